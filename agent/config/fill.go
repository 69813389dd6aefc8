package config

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A filler copies one file's document into a struct, which is Settings but for permissions.json. It
// walks both together, by reflection, so that the struct is the only place where a key, its type and its rules are written down.
type filler struct {
	source
	problems []Problem
}

// rules is a rule tag taken apart (settings.go says what each means).
type rules struct {
	min                     float64 // -Inf for none
	one                     []string
	path, adds, whole, user bool
}

func rulesOf(field reflect.StructField) rules {
	r := rules{min: math.Inf(-1)}
	for rule := range strings.SplitSeq(field.Tag.Get("rule"), ",") {
		name, value, _ := strings.Cut(rule, "=")
		switch name {
		case "min":
			r.min, _ = strconv.ParseFloat(value, 64)
		case "one":
			r.one = strings.Split(value, "|")
		case "path":
			r.path = true
		case "adds":
			r.adds = true
		case "whole":
			r.whole = true
		case "user":
			r.user = true
		}
	}
	return r
}

// fill copies root over the struct that dst points to.
func (f *filler) fill(dst any, root node) { f.object(reflect.ValueOf(dst).Elem(), root, "") }

// object fills the struct dst. key is its own key, "" for the root.
func (f *filler) object(dst reflect.Value, n node, key string) {
	members, ok := n.value.([]member)
	if !ok {
		f.wrong(n, key, "an object")
		return
	}
	names := jsonNames(dst.Type())
	for _, m := range members {
		i := slices.Index(names, m.name)
		if i < 0 {
			f.unknown(m, key, names)
			continue
		}
		r := rulesOf(dst.Type().Field(i))
		if r.user && f.project {
			f.warn(m.node, join(key, m.name), "a project's file cannot set it, so it is ignored; set it in your own config.json")
			continue
		}
		f.value(dst.Field(i), m.node, join(key, m.name), r)
	}
}

func jsonNames(t reflect.Type) []string {
	names := make([]string, t.NumField())
	for i := range names {
		names[i] = t.Field(i).Tag.Get("json")
	}
	return names
}

// value fills dst when n has its type and keeps to r, and leaves it as it is when not.
func (f *filler) value(dst reflect.Value, n node, key string, r rules) {
	if n.value == nil {
		return
	}
	if _, ok := dst.Interface().(time.Duration); ok {
		f.seconds(dst, n, key, r)
		return
	}
	switch dst.Kind() {
	case reflect.Struct:
		f.object(dst, n, key)
	case reflect.Map:
		f.entries(dst, n, key, r)
	case reflect.Slice:
		f.list(dst, n, key, r)
	case reflect.Interface:
		dst.Set(reflect.ValueOf(n.plain()))
	case reflect.String:
		f.text(dst, n, key, r)
	case reflect.Int:
		f.integer(dst, n, key, r)
	case reflect.Float64:
		f.number(dst, n, key, r)
	case reflect.Bool:
		if b, ok := n.value.(bool); ok {
			dst.SetBool(b)
		} else {
			f.wrong(n, key, "true or false")
		}
	default:
		panic("config: Settings has a field of a kind that no file can fill: " + key)
	}
}

// entries fills the map dst, whose keys the user chooses.
func (f *filler) entries(dst reflect.Value, n node, key string, r rules) {
	members, ok := n.value.([]member)
	if !ok {
		f.wrong(n, key, "an object")
		return
	}
	all := reflect.MakeMap(dst.Type()) // a map of its own: filling never changes another Settings'
	for name, value := range dst.Seq2() {
		all.SetMapIndex(name, value)
	}
	for _, m := range members {
		name, entry := reflect.ValueOf(m.name), reflect.New(dst.Type().Elem()).Elem()
		if old := all.MapIndex(name); old.IsValid() && !r.whole {
			entry.Set(old)
		}
		before := len(f.problems)
		f.value(entry, m.node, join(key, m.name), rules{min: math.Inf(-1)})
		if m.value == nil || entry.IsZero() && len(f.problems) > before {
			continue
		}
		all.SetMapIndex(name, entry)
	}
	dst.Set(all)
}

// list fills the slice dst, leaving out what is wrong in it.
func (f *filler) list(dst reflect.Value, n node, key string, r rules) {
	items, ok := n.value.([]node)
	if !ok {
		f.wrong(n, key, "a list")
		return
	}
	all := reflect.MakeSlice(dst.Type(), 0, len(items))
	if r.adds {
		all = reflect.AppendSlice(all, dst)
	}
	for i, item := range items {
		element, before := reflect.New(dst.Type().Elem()).Elem(), len(f.problems)
		f.value(element, item, fmt.Sprintf("%s[%d]", key, i), r)
		if item.value == nil || element.IsZero() && len(f.problems) > before {
			continue
		}
		all = reflect.Append(all, element)
	}
	dst.Set(all)
}

func (f *filler) text(dst reflect.Value, n node, key string, r rules) {
	s, ok := n.value.(string)
	switch {
	case !ok:
		f.wrong(n, key, "a text")
	case r.one != nil && !slices.Contains(r.one, s):
		f.fail(n, key, fmt.Sprintf("want %s, got %s", alternatives(r.one), clip(strconv.Quote(s))))
	case r.path && s == "":
		f.fail(n, key, "want a path, got an empty text")
	case r.path:
		f.path(dst, n, key, s)
	default:
		dst.SetString(s)
	}
}

// path makes s absolute, so that nobody has to know which file it came from.
func (f *filler) path(dst reflect.Value, n node, key, s string) {
	if s == "~" || len(s) > 1 && s[0] == '~' && os.IsPathSeparator(s[1]) {
		home := UserHome(os.Getenv)
		if home == "" {
			f.fail(n, key, "\"~\" has no meaning while HOME is not set")
			return
		}
		s = filepath.Join(home, s[1:])
	}
	if !filepath.IsAbs(s) {
		s = filepath.Join(filepath.Dir(f.file), s)
	}
	s, err := filepath.Abs(s) // --config may be relative itself
	if err != nil {
		f.fail(n, key, err.Error())
		return
	}
	dst.SetString(s)
}

func (f *filler) integer(dst reflect.Value, n node, key string, r rules) {
	want := "a whole number"
	if !math.IsInf(r.min, -1) {
		want = fmt.Sprintf("a whole number of at least %.0f", r.min)
	}
	number, ok := n.value.(json.Number)
	if !ok {
		f.wrong(n, key, want)
		return
	}
	i, err := strconv.Atoi(number.String())
	if err != nil || float64(i) < r.min {
		f.fail(n, key, fmt.Sprintf("want %s, got %s", want, clip(number.String())))
		return
	}
	dst.SetInt(int64(i))
}

func (f *filler) number(dst reflect.Value, n node, key string, r rules) {
	if x, ok := f.float(n, key, r, "a number", math.MaxFloat64); ok {
		dst.SetFloat(x)
	}
}

func (f *filler) seconds(dst reflect.Value, n node, key string, r rules) {
	if x, ok := f.float(n, key, r, "a number of seconds", 1e9); ok { // some 30 years; a Duration holds 290
		dst.SetInt(int64(x * float64(time.Second)))
	}
}

func (f *filler) float(n node, key string, r rules, want string, most float64) (float64, bool) {
	if !math.IsInf(r.min, -1) {
		want = fmt.Sprintf("%s, at least %.0f", want, r.min)
	}
	number, ok := n.value.(json.Number)
	if !ok {
		f.wrong(n, key, want)
		return 0, false
	}
	x, err := number.Float64()
	if err != nil || x < r.min || x > most {
		f.fail(n, key, fmt.Sprintf("want %s, got %s", want, clip(number.String())))
		return 0, false
	}
	return x, true
}

// wrong tells the kind of what was found, never the value: it may be a key.
func (f *filler) wrong(n node, key, want string) {
	f.fail(n, key, fmt.Sprintf("want %s, got %s", want, kindOf(n.value)))
}

func (f *filler) fail(n node, key, text string) {
	f.problems = append(f.problems, Problem{File: f.file, Line: n.line, Key: key, Text: text + "; it is left out"})
}

func (f *filler) warn(n node, key, text string) {
	f.problems = append(f.problems, Problem{File: f.file, Line: n.line, Key: key, Text: text, Warning: true})
}

func (f *filler) unknown(m member, key string, known []string) {
	text := "there is no such setting"
	if near := nearest(m.name, known); near != "" {
		text += "; is it " + join(key, near) + "?"
	}
	f.warn(m.node, join(key, m.name), text)
}

// join returns the dotted key of name below key. A name that would blur it is quoted.
func join(key, name string) string {
	if !isPlain(name) {
		name = clip(strconv.Quote(name))
	}
	if key == "" {
		return name
	}
	return key + "." + name
}

func isPlain(name string) bool {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	return name != "" && len(name) <= 60 && strings.Trim(name, plain) == ""
}

func alternatives(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = strconv.Quote(v)
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " or " + quoted[len(quoted)-1]
}

// clip shortens a text of the file for a message, which is to stay one line.
func clip(s string) string {
	if len(s) <= 60 {
		return s
	}
	return strings.ToValidUTF8(s[:60], "") + "…"
}
