module onceguard/examples/gin

go 1.19

require (
	github.com/gin-gonic/gin v1.8.1
	onceguard v0.0.0
	onceguard/onceguardgin v0.0.0
)

replace (
	onceguard => ../..
	onceguard/onceguardgin => ../../onceguardgin
)
