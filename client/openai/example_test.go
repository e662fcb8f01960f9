package openai_test

import (
	"fmt"
	"log"

	"github.com/transcriptd/transcriptd/client/openai"
)

// What a provider wrote becomes messages to put, and the same JSON again.
func ExampleParse() {
	messages, _, err := openai.Parse([]byte(`[
		{"role": "user", "content": "What is 2+2?"},
		{"role": "assistant", "content": null, "tool_calls": [
			{"id": "call_1", "type": "function", "function": {"name": "add", "arguments": "{\"a\": 2, \"b\": 2}"}}]}
	]`))
	if err != nil {
		log.Fatal(err)
	}
	call := messages[1].GetParts()[0].GetToolCall()
	fmt.Println(call.GetName(), call.GetArguments())

	again, report, err := openai.Format(messages)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(again))
	fmt.Println("changes:", len(report.Changes))
	// Output:
	// add {"a": 2, "b": 2}
	// [{"role":"user","content":"What is 2+2?"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"add","arguments":"{\"a\": 2, \"b\": 2}"}}]}]
	// changes: 0
}

// What is sent to the model is what the API accepts; the report tells what was changed.
func ExampleForModel() {
	messages, _, err := openai.Parse([]byte(`[
		{"role": "user", "content": "What is 2+2?"},
		{"role": "assistant", "reasoning_content": "I can add.", "content": null, "tool_calls": [
			{"id": null, "type": "function", "function": {"name": "add", "arguments": "{}"}}]},
		{"role": "tool", "tool_call_id": null, "content": "4"}
	]`))
	if err != nil {
		log.Fatal(err)
	}
	request, report, err := openai.ForModel(messages)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(request))
	for _, c := range report.Changes {
		fmt.Println(c.Path, c.Kind)
	}
	// Output:
	// [{"role":"user","content":"What is 2+2?"},{"role":"assistant","content":null,"tool_calls":[{"id":"call","type":"function","function":{"name":"add","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call","content":"4"}]
	// messages[1].parts[0] left_out
	// messages[1].parts[1].extras left_out
	// messages[1].parts[1].tool_call.id renamed
	// messages[2].extras left_out
}

// Errors name the member and never show its value.
func ExampleParse_error() {
	_, _, err := openai.Parse([]byte(`[{"role": "assistant", "tool_calls": [{"function": {"arguments": {"a": 2}}}]}]`))
	fmt.Println(err)
	// Output:
	// messages[0].tool_calls[0].function.arguments is neither a string nor null
}
