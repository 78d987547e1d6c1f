// Command task does a piece of work once, however often it is started with the same key:
//
//	ONCEGUARD_URL=unix:/tmp/onceguard.sock go run ./examples/task order-17 1000
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"onceguard"
)

func main() {
	log.SetFlags(0)
	client, err := onceguard.New(os.Getenv("ONCEGUARD_URL"))
	if err != nil || len(os.Args) != 3 {
		log.Fatal("usage: task KEY AMOUNT, with ONCEGUARD_URL: ", err)
	}
	operation := onceguard.Operation{Scope: "shop", Key: os.Args[1], Fingerprint: []byte(os.Args[2])}
	answer, err := client.Do(context.Background(), operation, func(_ context.Context, running *onceguard.Running) (onceguard.Answer, error) {
		log.Print("charging, attempt ", running.Attempt)
		if os.Args[2] == "0" {
			return onceguard.Answer{}, fmt.Errorf("nothing to charge: %w", onceguard.ErrNotDone)
		}
		return onceguard.Answer{Body: []byte("charged " + os.Args[2])}, nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(answer.Body), answer.Replayed)
}
