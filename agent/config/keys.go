package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// A Key is a provider's key and where it was found.
type Key struct {
	Value  string // "" when there is none
	Source string // for people: "ANTHROPIC_API_KEY", "auth.json", "providers.x.api_key in config.json"
}

// FindKey looks for the key of a provider: what the settings' api_key says, else the first of
// variables that is set, else auth.json (spec: files). getenv is os.Getenv, or a test's. No key is no
// error; an api_key that leads nowhere, or an auth.json that cannot be used, is one, and never holds
// any part of a key.
func (s Settings) FindKey(h Home, provider string, variables []string, getenv func(string) string) (Key, error) {
	if written := s.Providers[provider].APIKey; written != "" {
		value, err := Resolve(h, written, getenv)
		if err != nil {
			return Key{}, fmt.Errorf("reading providers.%s.api_key: %w", provider, err)
		}
		return Key{value, "providers." + provider + ".api_key in config.json"}, nil
	}
	for _, name := range variables {
		if value := strings.TrimSpace(getenv(name)); value != "" {
			return Key{value, name}, nil
		}
	}
	value, err := authKey(h.AuthFile(), provider)
	if value == "" || err != nil {
		return Key{}, err
	}
	return Key{value, "auth.json"}, nil
}

// Resolve returns what a secret of the settings stands for: {env:NAME}, {file:path} or the text
// itself. An error names the variable or file, and never what it holds.
func Resolve(h Home, written string, getenv func(string) string) (string, error) {
	if name, ok := enclosed(written, "{env:"); ok {
		value := strings.TrimSpace(getenv(name))
		if value == "" {
			return "", fmt.Errorf("the variable %s is not set", name)
		}
		return value, nil
	}
	name, ok := enclosed(written, "{file:")
	if !ok {
		return written, nil
	}
	if rest, isHome := strings.CutPrefix(name, "~/"); isHome {
		name = filepath.Join(UserHome(getenv), rest)
	} else if !filepath.IsAbs(name) {
		name = h.join(name)
	}
	data, err := readFile(name)
	if err != nil {
		return "", err
	}
	if value := strings.TrimSpace(string(data)); value != "" {
		return value, nil
	}
	return "", fmt.Errorf("%s is empty", name)
}

func enclosed(s, head string) (string, bool) {
	inner, ok := strings.CutPrefix(s, head)
	if !ok || !strings.HasSuffix(inner, "}") {
		return "", false
	}
	return strings.TrimSuffix(inner, "}"), true
}

// authKey reads auth.json, {"anthropic": {"type": "api_key", "key": "…"}}. A file that others can
// read is not used: a key in it is no secret any more, and whoever wrote it must hear of that.
func authKey(file, provider string) (string, error) {
	data, err := readFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", file, err)
	}
	if info, err := os.Stat(file); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s can be read by other users (mode %04o), so it is not used: run chmod 600 on it", file, info.Mode().Perm())
	}
	var entries map[string]struct {
		Type string `json:"type"`
		Key  string `json:"key"`
	}
	if json.Unmarshal(data, &entries) != nil { // the error could quote a key
		return "", fmt.Errorf(`reading %s: it is not of the form {"%s": {"type": "api_key", "key": "…"}}`, file, provider)
	}
	entry, ok := entries[provider]
	if ok && entry.Type != "api_key" {
		return "", fmt.Errorf("reading %s: %s has type %q, and only \"api_key\" is known", file, provider, entry.Type)
	}
	return strings.TrimSpace(entry.Key), nil
}
