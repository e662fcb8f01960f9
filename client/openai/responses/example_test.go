package responses_test

import (
	"fmt"
	"log"

	"github.com/transcriptd/transcriptd/client/openai/responses"
)

// What the model gave becomes one message to put, and the same items again.
func ExampleParse() {
	messages, _, err := responses.Parse([]byte(`[
		{"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "Let me see."}]},
		{"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "add", "arguments": "{\"a\": 2, \"b\": 2}"}
	]`))
	if err != nil {
		log.Fatal(err)
	}
	parts := messages[0].GetParts()
	fmt.Println(len(messages), parts[0].GetText(), parts[1].GetToolCall().GetArguments())

	again, report, err := responses.Format(messages)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(again))
	fmt.Println("changes:", len(report.Changes))
	// Output:
	// 1 Let me see. {"a": 2, "b": 2}
	// [{"role":"assistant","content":[{"type":"output_text","text":"Let me see."}],"type":"message","id":"msg_1"},{"type":"function_call","call_id":"call_1","name":"add","arguments":"{\"a\": 2, \"b\": 2}","id":"fc_1"}]
	// changes: 0
}

// What is sent to the model is what the API accepts; the report tells what was changed.
func ExampleForModel() {
	messages, _, err := responses.Parse([]byte(`[
		{"role": "user", "content": "What is 2+2?"},
		{"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "I can add."}]},
		{"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "add", "arguments": "{}"}
	]`))
	if err != nil {
		log.Fatal(err)
	}
	input, report, err := responses.ForModel(messages)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(input))
	for _, c := range report.Changes {
		fmt.Println(c.Path, c.Kind)
	}
	// Output:
	// [{"role":"user","content":"What is 2+2?"},{"type":"function_call","call_id":"call_1","name":"add","arguments":"{}"},{"type":"function_call_output","call_id":"call_1","output":"[no result: the call was interrupted]"}]
	// messages[1].parts[0] left_out
	// messages[1].parts[1] added
}

// Errors name the member and never show its value.
func ExampleParse_error() {
	_, _, err := responses.Parse([]byte(`[{"type": "message", "role": "user", "content": 4}]`))
	fmt.Println(err)
	// Output:
	// items[0].content is neither a string nor a list nor null
}
