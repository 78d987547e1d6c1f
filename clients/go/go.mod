module onceguard

go 1.19
