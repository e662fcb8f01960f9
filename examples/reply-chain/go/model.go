package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	anthropicsdk "github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	openaisdk "github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"

	"github.com/transcriptd/transcriptd/client"
	"github.com/transcriptd/transcriptd/client/anthropic"
	"github.com/transcriptd/transcriptd/client/openai"
	"github.com/transcriptd/transcriptd/examples/reply-chain/go/script"
)

// model says what comes after messages: calls of tools, or a text.
type model func(ctx context.Context, messages []*message, tools []*client.Tool) (*message, error)

// chosenModel is the model that the environment variable MODEL names: openai:NAME, anthropic:NAME, or none, the script. The providers'
// clients read OPENAI_API_KEY, OPENAI_BASE_URL, ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL by themselves.
func chosenModel(variable string) (model, error) {
	provider, name, _ := strings.Cut(variable, ":")
	switch {
	case variable == "":
		return func(_ context.Context, messages []*message, _ []*client.Tool) (*message, error) {
			return script.Answer(messages), nil
		}, nil
	case provider == "openai" && name != "":
		return openAI(openaisdk.NewClient(), name), nil
	case provider == "anthropic" && name != "":
		return claude(anthropicsdk.NewClient(), name), nil
	}
	return nil, errors.New("MODEL has to be openai:NAME or anthropic:NAME, or not set for the script")
}

func openAI(c openaisdk.Client, name string) model {
	return func(ctx context.Context, messages []*message, tools []*client.Tool) (*message, error) {
		sent, _, err := openai.ForModel(messages)
		if err != nil {
			return nil, err
		}
		options := []openaioption.RequestOption{openaioption.WithJSONSet("messages", json.RawMessage(sent))}
		for _, tool := range tools {
			options = append(options, openaioption.WithJSONSet("tools.-1", tool.OpenAI()))
		}
		got, err := c.Chat.Completions.New(ctx, openaisdk.ChatCompletionNewParams{Model: name}, options...)
		if err != nil {
			return nil, err
		}
		if len(got.Choices) == 0 {
			return nil, errors.New("the model's reply has no choices")
		}
		said, _, err := openai.ParseMessage([]byte(got.Choices[0].Message.RawJSON()))
		return said, err
	}
}

const maxTokens = 4096 // of a reply

func claude(c anthropicsdk.Client, name string) model {
	return func(ctx context.Context, messages []*message, tools []*client.Tool) (*message, error) {
		sent, _, err := anthropic.ForModel(messages)
		if err != nil {
			return nil, err
		}
		var request map[string]json.RawMessage
		if err := json.Unmarshal(sent, &request); err != nil {
			return nil, err
		}
		var options []anthropicoption.RequestOption
		for member, value := range request { // system and messages
			options = append(options, anthropicoption.WithJSONSet(member, value))
		}
		for _, tool := range tools {
			options = append(options, anthropicoption.WithJSONSet("tools.-1", tool.Anthropic()))
		}
		got, err := c.Messages.New(ctx, anthropicsdk.MessageNewParams{Model: name, MaxTokens: maxTokens}, options...)
		if err != nil {
			return nil, err
		}
		said, _, err := anthropic.ParseMessage(fmt.Appendf(nil, `{"role":"assistant","content":%s}`, got.JSON.Content.Raw()))
		if err != nil {
			return nil, err
		}
		return said[0], nil
	}
}
