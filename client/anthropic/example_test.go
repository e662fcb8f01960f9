package anthropic_test

import (
	"fmt"
	"log"

	"github.com/transcriptd/transcriptd/client/anthropic"
	"github.com/transcriptd/transcriptd/client/openai"
)

// A user's message with results becomes several messages, joined, and one again on the way back.
func ExampleParse() {
	messages, _, err := anthropic.Parse([]byte(`{
		"system": "Be brief.",
		"messages": [
			{"role": "user", "content": "What is 2+2?"},
			{"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 2, "b": 2}}]},
			{"role": "user", "content": [
				{"type": "tool_result", "tool_use_id": "toolu_1", "content": "4"},
				{"type": "text", "text": "And 3+3?"}]}
		]}`))
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range messages {
		fmt.Println(m.GetRole(), m.GetJoined())
	}
	again, report, err := anthropic.Format(messages)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(again))
	fmt.Println("changes:", len(report.Changes))
	// Output:
	// ROLE_SYSTEM false
	// ROLE_USER false
	// ROLE_ASSISTANT false
	// ROLE_TOOL false
	// ROLE_USER true
	// {"system":"Be brief.","messages":[{"role":"user","content":"What is 2+2?"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"add","input":{"a":2,"b":2}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"4"},{"type":"text","text":"And 3+3?"}]}]}
	// changes: 0
}

// Messages of another provider can be sent to an Anthropic model, too.
func ExampleForModel() {
	messages, _, err := openai.Parse([]byte(`[
		{"role": "system", "content": "Be brief."},
		{"role": "user", "content": "What is 2+2?"},
		{"role": "assistant", "content": null, "tool_calls": [
			{"id": "call|1", "type": "function", "function": {"name": "add", "arguments": "2 and 2"}}]},
		{"role": "tool", "tool_call_id": "call|1", "content": "4"}
	]`))
	if err != nil {
		log.Fatal(err)
	}
	request, report, err := anthropic.ForModel(messages)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(request))
	for _, c := range report.Changes {
		fmt.Println(c.Path, c.Kind, c.To)
	}
	// Output:
	// {"system":"Be brief.","messages":[{"role":"user","content":"What is 2+2?"},{"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"add","input":{"arguments":"2 and 2"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"4"}]}]}
	// messages[2].parts[0].tool_call.id renamed call_1
	// messages[2].parts[0].tool_call.arguments replaced
}
