package acp

import (
	"context"
	"encoding/json"

	"nimlet/agent"
	"nimlet/agent/model"
	"nimlet/server"
)

// The options of a session, by id.
const (
	modeOption     = "mode"
	modelOption    = "model"
	thinkingOption = "thinking"
)

var availableModes = []mode{
	{ID: string(agent.Act), Name: "Act", Description: "Edit files and run commands"},
	{ID: string(agent.Plan), Name: "Plan", Description: "Read and plan; change nothing"},
}

func modes(current agent.Mode) modeState {
	return modeState{CurrentModeID: string(current), AvailableModes: availableModes}
}

// configOptions are all that can be chosen in a session. The mode is offered a second time, for
// editors that draw options instead of modes.
func configOptions(live *server.Session) []configOption {
	c := live.Choice()
	return []configOption{modeChoices(live.Mode()), modelChoices(live, c), thinkingChoices(c)}
}

func modeChoices(current agent.Mode) configOption {
	choices := make([]configChoice, len(availableModes))
	for i, m := range availableModes {
		choices[i] = configChoice{Value: m.ID, Name: m.Name, Description: m.Description}
	}
	return selection(modeOption, "Mode", "What the agent may do", modeOption, string(current), choices)
}

func modelChoices(live *server.Session, c server.Choice) configOption {
	groups := []configGroup{{Group: server.Automatic, Name: "Automatic", Options: []configChoice{
		{Value: server.Automatic, Name: "Automatic", Description: "The first provider that has a key, else a local server"},
	}}}
	current := server.Automatic
	for _, o := range live.Models() {
		g := configGroup{Group: o.Provider, Name: o.Provider}
		for _, id := range o.Models {
			value := o.Provider + "/" + id
			g.Options = append(g.Options, configChoice{Value: value, Name: id})
			if o.Provider == c.Provider && id == c.Model {
				current = value
			}
		}
		groups = append(groups, g)
	}
	return selection(modelOption, "Model", "Who answers", modelOption, current, groups)
}

func thinkingChoices(c server.Choice) configOption {
	var choices []configChoice
	for _, l := range model.Levels() {
		choices = append(choices, configChoice{Value: string(l), Name: string(l)})
	}
	return selection(thinkingOption, "Thinking", "How much the model thinks before it answers", "thought_level", string(c.Thinking), choices)
}

func selection(id, name, description, category, current string, options any) configOption {
	return configOption{ID: id, Name: name, Description: description, Category: category, Type: "select", CurrentValue: current, Options: options}
}

func (c *connection) setMode(_ context.Context, p setModeRequest) (any, error) {
	live, err := c.live(p.SessionID)
	if err != nil {
		return nil, err
	}
	if p.ModeID == nil {
		return nil, missing("modeId")
	}
	if err := changeMode(live, "modeId", *p.ModeID); err != nil {
		return nil, err
	}
	return empty{}, nil
}

func (c *connection) setConfig(_ context.Context, p setConfigRequest) (any, error) {
	live, err := c.live(p.SessionID)
	if err != nil {
		return nil, err
	}
	if p.ConfigID == nil {
		return nil, missing("configId")
	}
	var value string
	if json.Unmarshal(p.Value, &value) != nil {
		return nil, invalid("value", "expected a string")
	}
	if err := changeOption(live, *p.ConfigID, value); err != nil {
		return nil, err
	}
	return setConfigResponse{ConfigOptions: configOptions(live)}, nil
}

func changeOption(live *server.Session, id, value string) error {
	switch id {
	case modeOption:
		return changeMode(live, "value", value)
	case modelOption:
		return badValue(live.ChooseModel(value))
	case thinkingOption:
		return badValue(live.Choose(server.Choice{Thinking: model.Level(value)}))
	}
	return invalid("configId", "there is no option %q; there are %q, %q and %q", id, modeOption, modelOption, thinkingOption)
}

// badValue gives a choice that cannot be made its code.
func badValue(err error) error {
	if err != nil {
		return invalid("value", "%v", err)
	}
	return nil
}

func changeMode(live *server.Session, field, id string) error {
	if id != string(agent.Act) && id != string(agent.Plan) {
		return invalid(field, "there is no mode %q; the modes are %q and %q", id, agent.Act, agent.Plan)
	}
	return live.SetMode(agent.Mode(id))
}
