package acp

import (
	"sync"

	"nimlet/agent"
)

// Updates translates the events of one session into ACP's update objects and hands each to send.
// It is what session/update carries, and what a run prints as JSON.
type Updates struct {
	send      func(update any)
	options   func() []configOption // nil, or all that can be chosen in the session
	limit     int                   // bytes of one encoded update
	terminals bool                  // the client draws output of commands as a terminal
	notices   bool                  // the client has notices

	mu       sync.Mutex
	begun    string               // begins the ids of a conversation that took the place of another
	numbered int                  // counts the messages and cards that stand for no event of the session
	calls    map[string]shownCall // that are not finished, by id
}

// NewUpdates returns an Updates for a reader that takes all there is: notices, and lines as long
// as the roomiest editor takes.
func NewUpdates(send func(update any)) *Updates {
	return newUpdates(send, roomyLimit, true, false)
}

func newUpdates(send func(update any), limit int, notices, terminals bool) *Updates {
	return &Updates{
		send: send, limit: limit, notices: notices, terminals: terminals,
		calls: map[string]shownCall{},
	}
}

// Emit shows an event. It is the one place where the agent's events become ACP's updates.
func (u *Updates) Emit(event agent.Event) {
	switch v := event.(type) {
	case agent.TextDelta:
		u.text("agent_message_chunk", u.unique(v.MessageID), v.Text, nil)
	case agent.ThoughtDelta:
		u.text("agent_thought_chunk", u.unique(v.MessageID), v.Text, nil)
	case agent.CommandReply:
		u.text("agent_message_chunk", u.unique(v.MessageID), v.Text, nil)
	case agent.UserMessage:
		u.userMessage(v)
	case agent.Notice:
		u.notice(v)
	case agent.ToolStarted, agent.ToolChanged, agent.ToolRunning, agent.ToolProgress, agent.ToolFinished:
		u.toolCall(v)
	case agent.UsageChanged:
		u.send(usageUpdate{SessionUpdate: "usage_update", Used: v.Used, Size: v.Size, Cost: dollars(v.Spent)})
	case agent.TitleChanged:
		u.send(infoUpdate{SessionUpdate: "session_info_update", Title: optional(v.Title)})
	case agent.ModeChanged:
		u.send(modeUpdate{SessionUpdate: "current_mode_update", CurrentModeID: string(v.Mode)})
		u.configOptions()
	case agent.OptionsChanged:
		u.configOptions()
	case agent.TurnStarted, agent.TurnEnded: // the prompt's own request and response
	}
}

// dollars is nil for what no price is known of.
func dollars(amount float64) *cost {
	if amount == 0 {
		return nil
	}
	return &cost{Amount: amount, Currency: "USD"}
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// configOptions shows what is chosen now, where somebody knows.
func (u *Updates) configOptions() {
	if u.options == nil {
		return
	}
	if list := u.options(); list != nil {
		u.send(configUpdate{SessionUpdate: "config_option_update", ConfigOptions: list})
	}
}

// text sends a message in as many chunks as its length takes.
func (u *Updates) text(kind, messageID, text string, meta map[string]any) {
	for _, piece := range pieces(text, u.limit-chunkOverhead) {
		u.send(chunkUpdate{SessionUpdate: kind, Content: textBlock(piece), MessageID: messageID, Meta: meta})
	}
}

func (u *Updates) userMessage(m agent.UserMessage) {
	for _, b := range blocks(m.Content) {
		if b.Type == "text" {
			u.text("user_message_chunk", u.unique(m.MessageID), *b.Text, nil)
			continue
		}
		u.send(chunkUpdate{SessionUpdate: "user_message_chunk", Content: fitBlock(b, u.limit-chunkOverhead), MessageID: u.unique(m.MessageID)})
	}
}

const maxNoticeTitle = 256 // characters, by the schema's advice

// notice shows what no model sees: as a notice where the client has them, else as a message of its
// own that says what it is.
func (u *Updates) notice(n agent.Notice) {
	if u.notices {
		title, rest := headline(n.Title, maxNoticeTitle)
		u.send(noticeUpdate{SessionUpdate: "notice", Severity: string(n.Level), Title: title, Description: joinLines(rest, n.Text)})
		return
	}
	text := "**nimlet:** " + joinLines(n.Title, n.Text) + "\n\n"
	u.text("agent_message_chunk", u.newID("notice"), text, map[string]any{"nimlet/notice": map[string]string{"severity": string(n.Level)}})
}

// begin says that another conversation goes on in this thread. Messages and calls are named by their
// place in a conversation, so their names begin anew too, and the editor must not take one for
// another.
func (u *Updates) begin(conversation string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.begun = conversation + ":"
}

// unique returns the name of a message or call within the editor's thread.
func (u *Updates) unique(id string) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.begun + id
}

// newID names a message or card that stands for no event of the session.
func (u *Updates) newID(kind string) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.numbered++
	return syntheticID(kind, u.numbered)
}

// commands shows which slash commands there are.
func (u *Updates) commands(list agent.Commands) {
	c := commandsUpdate{SessionUpdate: "available_commands_update", AvailableCommands: make([]command, len(list))}
	for i, x := range list {
		c.AvailableCommands[i] = command{Name: x.Name, Description: x.Description}
		if x.Hint != "" {
			c.AvailableCommands[i].Input = &commandInput{Hint: x.Hint}
		}
	}
	u.send(c)
}

// StopReason names the ending of a prompt in the schema's words; "" for one that failed.
func StopReason(r agent.Reason) string { return stopReasons[r] }
