package acp

import (
	"context"
	"encoding/json"

	"nimlet/agent"
	"nimlet/server"
)

const modeOption = "mode"

var availableModes = []mode{
	{ID: string(agent.Act), Name: "Act", Description: "Edit files and run commands"},
	{ID: string(agent.Plan), Name: "Plan", Description: "Read and plan; change nothing"},
}

func modes(current agent.Mode) modeState {
	return modeState{CurrentModeID: string(current), AvailableModes: availableModes}
}

// configOptions offers the mode a second time, for editors that draw options instead of modes.
func configOptions(current agent.Mode) []configOption {
	choices := make([]configChoice, len(availableModes))
	for i, m := range availableModes {
		choices[i] = configChoice{Value: m.ID, Name: m.Name, Description: m.Description}
	}
	return []configOption{{
		ID: modeOption, Name: "Mode", Description: "What the agent may do", Category: modeOption,
		Type: "select", CurrentValue: string(current), Options: choices,
	}}
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
	if *p.ConfigID != modeOption {
		return nil, invalid("configId", "there is no option %q; the only one is %q", *p.ConfigID, modeOption)
	}
	var value string
	if json.Unmarshal(p.Value, &value) != nil {
		return nil, invalid("value", "expected a string")
	}
	if err := changeMode(live, "value", value); err != nil {
		return nil, err
	}
	return setConfigResponse{ConfigOptions: configOptions(live.Mode())}, nil
}

func changeMode(live *server.Session, field, id string) error {
	if id != string(agent.Act) && id != string(agent.Plan) {
		return invalid(field, "there is no mode %q; the modes are %q and %q", id, agent.Act, agent.Plan)
	}
	return live.SetMode(agent.Mode(id))
}
