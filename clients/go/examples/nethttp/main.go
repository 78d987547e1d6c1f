// Command nethttp is a payment service on net/http whose POST handlers run once for each
// Idempotency-Key. PORT and ONCEGUARD_URL say where it listens and where `onceguard serve` does.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"

	"onceguard"
	"onceguard/examples/conformance"
)

func pay(w http.ResponseWriter, r *http.Request) {
	var payment struct{ Amount int }
	if err := json.NewDecoder(r.Body).Decode(&payment); err != nil || payment.Amount <= 0 {
		http.Error(w, "amount: expected a number above 0", http.StatusBadRequest) // releases the key
		return
	}
	running, _ := onceguard.FromContext(r.Context())
	log.Printf("charging %d, token %s", payment.Amount, running.Token)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"charged":%d}`, payment.Amount)
}

func main() {
	client, err := onceguard.New(os.Getenv("ONCEGUARD_URL"), conformance.Options()...)
	if err != nil {
		log.Fatal(err)
	}
	routes := http.NewServeMux()
	routes.HandleFunc("/payments", pay)
	routes.Handle("/conformance", conformance.Service())
	routes.Handle("/conformance/", conformance.Service())
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), client.Middleware(routes)))
}
