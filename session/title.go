package session

import "strings"

// maxTitle is the longest title, in runes.
const maxTitle = 80

// firstWords makes a title of the first text in a user's message; "" when it has none.
func firstWords(e Event) string {
	u, ok := e.(User)
	if !ok {
		return ""
	}
	for _, p := range u.Content {
		if t, ok := p.(Text); ok {
			if title := oneTitle(t.Text); title != "" {
				return title
			}
		}
	}
	return ""
}

// oneTitle puts text on one line and cuts it at a word when it is too long.
func oneTitle(text string) string {
	const enough = 8 * maxTitle // more than that is not looked at: a prompt can hold a whole file
	if len(text) > enough*8 {
		text = text[:enough*8]
	}
	words := strings.Fields(strings.ToValidUTF8(text, ""))
	title := []rune(strings.Join(words, " "))
	if len(title) <= maxTitle {
		return string(title)
	}
	cut := string(title[:maxTitle-1])
	if at := strings.LastIndexByte(cut, ' '); at > len(cut)/2 {
		cut = cut[:at]
	}
	return cut + "…"
}
