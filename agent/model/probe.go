package model

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// maxList bounds what is read of a list of models.
const maxList = 1 << 20

// Probe asks the local server at baseURL for its models. Whatever does not answer with a list of
// them is an error: its port may belong to any program. The caller bounds ctx, as a port may be
// held by one that never answers.
func Probe(ctx context.Context, baseURL string) (models []string, err error) {
	address, err := Endpoint{Name: "local server", Dialect: OpenAI, BaseURL: baseURL}.url("/models")
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("asking %s for its models: %w", baseURL, err)
	}
	// No proxy stands before this machine, and no connection is left behind.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking %s for its models: %w", baseURL, inner(err))
	}
	defer response.Body.Close()
	var list struct{ Data []struct{ ID string } }
	err = json.NewDecoder(io.LimitReader(response.Body, maxList)).Decode(&list)
	if response.StatusCode != http.StatusOK || err != nil || list.Data == nil {
		return nil, fmt.Errorf("asking %s for its models: what answers there (%s) is no model server", baseURL, response.Status)
	}
	for _, m := range list.Data {
		if m.ID != "" {
			models = append(models, m.ID)
		}
	}
	return models, nil
}
