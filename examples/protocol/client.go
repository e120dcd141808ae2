// Guards one tool of an agent with `haltline serve --stdio`. Usage: go run client.go [HALTLINE]
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
)

type object = map[string]any

type haltline struct {
	in  *json.Encoder
	out *json.Decoder
	ids int
}

func start(program string) *haltline {
	command := exec.Command(program, "serve", "--stdio", "--memory")
	in, _ := command.StdinPipe()
	out, _ := command.StdoutPipe()
	if err := command.Start(); err != nil {
		panic(err)
	}
	return &haltline{json.NewEncoder(io.Writer(in)), json.NewDecoder(out), 0}
}

func (h *haltline) ask(method string, fields object) object {
	h.ids++
	fields["v"], fields["id"], fields["method"], fields["session"] = 1, h.ids, method, "example"
	if err := h.in.Encode(fields); err != nil {
		panic(err)
	}
	var response object
	if err := h.out.Decode(&response); err != nil {
		panic(err)
	}
	if problem, failed := response["error"]; failed {
		panic(problem)
	}
	return response
}

func main() {
	program := "haltline"
	if len(os.Args) > 1 {
		program = os.Args[1]
	}
	h := start(program)
	h.ask("open", object{})
	for attempt := 1; attempt < 10; attempt++ {
		v := h.ask("before", object{"tool": "bash", "input": object{"command": "make test"}})
		if v["verdict"] == "deny" || v["verdict"] == "stop" {
			fmt.Printf("attempt %d: %s %s\n", attempt, v["verdict"], v["code"])
			return
		}
		h.ask("after", object{"call": v["call"], "outcome": "failed", "exit": 2, "output": "2 tests failed"})
		fmt.Printf("attempt %d: failed\n", attempt)
	}
}
