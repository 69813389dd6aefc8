package acp

import "encoding/json"

// The wire types of ACP v1, as far as they are spoken here. Names and fields are those of the
// stable schema; the order of this file is requests, capabilities, content, updates, client methods.

const protocolVersion = 1

// Methods the agent serves.
const (
	methodInitialize   = "initialize"
	methodAuthenticate = "authenticate"
	methodNew          = "session/new"
	methodLoad         = "session/load"
	methodResume       = "session/resume"
	methodList         = "session/list"
	methodClose        = "session/close"
	methodDelete       = "session/delete"
	methodPrompt       = "session/prompt"
	methodCancel       = "session/cancel"
	methodSetMode      = "session/set_mode"
	methodSetConfig    = "session/set_config_option"
	methodSteer        = "_nimlet/steer"
)

// Methods the client serves.
const (
	methodUpdate      = "session/update"
	methodPermission  = "session/request_permission"
	methodElicitation = "elicitation/create"
	methodReadFile    = "fs/read_text_file"
	methodWriteFile   = "fs/write_text_file"
)

// A lenient field becomes its zero value when what was sent has another type, as the schema's
// x-deserialize-default-on-error asks.
type lenient[T any] struct{ V T }

func (l *lenient[T]) UnmarshalJSON(data []byte) error {
	var v T
	if json.Unmarshal(data, &v) == nil {
		l.V = v
	}
	return nil
}

type initializeRequest struct {
	ProtocolVersion    *json.Number                `json:"protocolVersion"`
	ClientCapabilities lenient[clientCapabilities] `json:"clientCapabilities"`
	ClientInfo         lenient[implementation]     `json:"clientInfo"`
}

type clientCapabilities struct {
	FS          lenient[fsCapabilities]          `json:"fs"`
	Session     lenient[sessionClientCaps]       `json:"session"`
	Elicitation lenient[elicitationCapabilities] `json:"elicitation"`
	Meta        lenient[clientMeta]              `json:"_meta"`
}

type fsCapabilities struct {
	ReadTextFile  lenient[bool] `json:"readTextFile"`
	WriteTextFile lenient[bool] `json:"writeTextFile"`
}

type sessionClientCaps struct {
	Notices lenient[*struct{}] `json:"notices"`
}

type elicitationCapabilities struct {
	Form lenient[*struct{}] `json:"form"`
}

// clientMeta holds what clients say beside the standard: Zed draws terminals an agent runs itself.
type clientMeta struct {
	TerminalOutput lenient[bool] `json:"terminal_output"`
}

type implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

type initializeResponse struct {
	ProtocolVersion   int               `json:"protocolVersion"`
	AgentCapabilities agentCapabilities `json:"agentCapabilities"`
	AuthMethods       []authMethod      `json:"authMethods"`
	AgentInfo         implementation    `json:"agentInfo"`
}

type agentCapabilities struct {
	LoadSession         bool                `json:"loadSession"`
	PromptCapabilities  promptCapabilities  `json:"promptCapabilities"`
	MCPCapabilities     mcpCapabilities     `json:"mcpCapabilities"`
	SessionCapabilities sessionCapabilities `json:"sessionCapabilities"`
}

type promptCapabilities struct {
	Image           bool `json:"image"`
	Audio           bool `json:"audio"`
	EmbeddedContext bool `json:"embeddedContext"`
}

type mcpCapabilities struct {
	HTTP bool `json:"http"`
	SSE  bool `json:"sse"`
}

type sessionCapabilities struct {
	List                  struct{} `json:"list"`
	Resume                struct{} `json:"resume"`
	Close                 struct{} `json:"close"`
	Delete                struct{} `json:"delete"`
	AdditionalDirectories struct{} `json:"additionalDirectories"`
}

type authMethod struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

type authenticateRequest struct {
	MethodID *string `json:"methodId"`
}

// An openRequest is that of session/new, load and resume; new has no SessionID.
type openRequest struct {
	SessionID             *string           `json:"sessionId"`
	Cwd                   *string           `json:"cwd"`
	AdditionalDirectories lenient[[]string] `json:"additionalDirectories"`
	MCPServers            []json.RawMessage `json:"mcpServers"`
}

type openResponse struct {
	SessionID     string         `json:"sessionId,omitempty"`
	Modes         modeState      `json:"modes"`
	ConfigOptions []configOption `json:"configOptions"`
}

type modeState struct {
	CurrentModeID  string `json:"currentModeId"`
	AvailableModes []mode `json:"availableModes"`
}

type mode struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

type configOption struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Description  string `json:"description"`
	Category     string `json:"category"`
	Type         string `json:"type"` // "select"
	CurrentValue string `json:"currentValue"`
	Options      any    `json:"options"` // []configChoice or []configGroup
}

type configGroup struct {
	Group   string         `json:"group"`
	Name    string         `json:"name"`
	Options []configChoice `json:"options"`
}

type configChoice struct {
	Value       string `json:"value"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

type listRequest struct {
	Cwd    lenient[*string] `json:"cwd"`
	Cursor lenient[*string] `json:"cursor"`
}

type listResponse struct {
	Sessions   []sessionInfo `json:"sessions"`
	NextCursor string        `json:"nextCursor,omitempty"`
}

type sessionInfo struct {
	SessionID             string   `json:"sessionId"`
	Cwd                   string   `json:"cwd"`
	AdditionalDirectories []string `json:"additionalDirectories,omitempty"`
	Title                 string   `json:"title,omitempty"`
	UpdatedAt             string   `json:"updatedAt,omitempty"`
}

type sessionRequest struct {
	SessionID *string `json:"sessionId"`
}

type promptRequest struct {
	SessionID *string           `json:"sessionId"`
	Prompt    []json.RawMessage `json:"prompt"`
}

type promptResponse struct {
	StopReason string `json:"stopReason"`
}

type setModeRequest struct {
	SessionID *string `json:"sessionId"`
	ModeID    *string `json:"modeId"`
}

type setConfigRequest struct {
	SessionID *string         `json:"sessionId"`
	ConfigID  *string         `json:"configId"`
	Value     json.RawMessage `json:"value"`
}

type setConfigResponse struct {
	ConfigOptions []configOption `json:"configOptions"`
}

type steerResponse struct {
	Queued bool `json:"queued"`
}

// A contentBlock is one of the schema's union; Type says which fields count.
type contentBlock struct {
	Type     string    `json:"type"`
	Text     *string   `json:"text,omitempty"`
	Data     string    `json:"data,omitempty"`
	MIMEType string    `json:"mimeType,omitempty"`
	URI      string    `json:"uri,omitempty"`
	Name     string    `json:"name,omitempty"`
	Resource *resource `json:"resource,omitempty"`
}

type resource struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     *string `json:"blob,omitempty"`
}

type sessionNotification struct {
	SessionID string `json:"sessionId"`
	Update    any    `json:"update"`
}

type chunkUpdate struct {
	SessionUpdate string         `json:"sessionUpdate"`
	Content       contentBlock   `json:"content"`
	MessageID     string         `json:"messageId,omitempty"`
	Meta          map[string]any `json:"_meta,omitempty"`
}

// A toolUpdate is a tool_call, a tool_call_update, or the toolCall of a permission request, which
// has no SessionUpdate. Content and Locations replace what was shown before; nil leaves it.
type toolUpdate struct {
	SessionUpdate string          `json:"sessionUpdate,omitempty"`
	ToolCallID    string          `json:"toolCallId"`
	Title         string          `json:"title,omitempty"`
	Name          string          `json:"name,omitempty"`
	Kind          string          `json:"kind,omitempty"`
	Status        string          `json:"status,omitempty"`
	Content       []toolContent   `json:"content,omitempty"`
	Locations     []toolLocation  `json:"locations,omitempty"`
	RawInput      json.RawMessage `json:"rawInput,omitempty"`
	Meta          map[string]any  `json:"_meta,omitempty"`
}

// The statuses of a tool call.
const (
	pending    = "pending"
	inProgress = "in_progress"
	completed  = "completed"
	failed     = "failed"
)

// A toolContent is content, a diff or a terminal, by Type.
type toolContent struct {
	Type       string        `json:"type"`
	Content    *contentBlock `json:"content,omitempty"`
	Path       string        `json:"path,omitempty"`
	OldText    *string       `json:"oldText,omitempty"`
	NewText    *string       `json:"newText,omitempty"`
	TerminalID string        `json:"terminalId,omitempty"`
}

type toolLocation struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

type commandsUpdate struct {
	SessionUpdate     string    `json:"sessionUpdate"`
	AvailableCommands []command `json:"availableCommands"`
}

type command struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Input       *commandInput `json:"input,omitempty"`
}

type commandInput struct {
	Hint string `json:"hint"`
}

type modeUpdate struct {
	SessionUpdate string `json:"sessionUpdate"`
	CurrentModeID string `json:"currentModeId"`
}

type configUpdate struct {
	SessionUpdate string         `json:"sessionUpdate"`
	ConfigOptions []configOption `json:"configOptions"`
}

type infoUpdate struct {
	SessionUpdate string  `json:"sessionUpdate"`
	Title         *string `json:"title"` // null clears it
}

type usageUpdate struct {
	SessionUpdate string `json:"sessionUpdate"`
	Used          int    `json:"used"`
	Size          int    `json:"size"`
	Cost          *cost  `json:"cost,omitempty"`
}

type cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

type noticeUpdate struct {
	SessionUpdate string `json:"sessionUpdate"`
	Severity      string `json:"severity"`
	Title         string `json:"title"`
	Description   string `json:"description,omitempty"`
}

type permissionRequest struct {
	SessionID string             `json:"sessionId"`
	ToolCall  toolUpdate         `json:"toolCall"`
	Options   []permissionOption `json:"options"`
}

type permissionOption struct {
	OptionID string `json:"optionId"`
	Name     string `json:"name"`
	Kind     string `json:"kind"`
}

type permissionResponse struct {
	Outcome struct {
		Outcome  string `json:"outcome"`
		OptionID string `json:"optionId"`
	} `json:"outcome"`
}

type elicitationRequest struct {
	SessionID       string            `json:"sessionId"`
	ToolCallID      string            `json:"toolCallId,omitempty"`
	Mode            string            `json:"mode"` // "form"
	Message         string            `json:"message"`
	RequestedSchema elicitationSchema `json:"requestedSchema"`
}

type elicitationSchema struct {
	Type       string                    `json:"type"` // "object"
	Properties map[string]stringProperty `json:"properties"`
	Required   []string                  `json:"required,omitempty"`
}

type stringProperty struct {
	Type  string       `json:"type"` // "string"
	Title string       `json:"title,omitempty"`
	OneOf []enumOption `json:"oneOf,omitempty"`
}

type enumOption struct {
	Const       string `json:"const"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
}

type elicitationResponse struct {
	Action  string `json:"action"`
	Content struct {
		Choice lenient[*string] `json:"choice"`
		Other  lenient[*string] `json:"other"`
	} `json:"content"`
}

type readFileRequest struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
}

type readFileResponse struct {
	Content *string `json:"content"`
}

type writeFileRequest struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
	Content   string `json:"content"`
}

// empty is the result of methods that answer nothing; the schema wants an object, not null.
type empty struct{}
