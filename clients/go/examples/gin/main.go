// Command gin is a payment service on Gin whose POST handlers run once for each Idempotency-Key.
package main

import (
	"log"
	"net/http"
	"os"

	"github.com/gin-gonic/gin"

	"onceguard"
	"onceguard/examples/conformance"
	"onceguard/onceguardgin"
)

func pay(c *gin.Context) {
	var payment struct {
		Amount int `json:"amount" binding:"required,gt=0"`
	}
	if err := c.ShouldBindJSON(&payment); err != nil {
		c.JSON(http.StatusBadRequest, gin.H{"error": err.Error()}) // releases the key
		return
	}
	running, _ := onceguard.FromContext(c.Request.Context())
	log.Printf("charging %d, token %s", payment.Amount, running.Token)
	c.JSON(http.StatusCreated, gin.H{"charged": payment.Amount})
}

func main() {
	client, err := onceguard.New(os.Getenv("ONCEGUARD_URL"), conformance.Options()...)
	if err != nil {
		log.Fatal(err)
	}
	gin.SetMode(gin.ReleaseMode)
	routes := gin.New()
	routes.Use(onceguardgin.Middleware(client))
	routes.POST("/payments", pay)
	routes.Any("/conformance", gin.WrapH(conformance.Service()))
	routes.Any("/conformance/*path", gin.WrapH(conformance.Service()))
	log.Fatal(routes.Run("127.0.0.1:" + os.Getenv("PORT")))
}
