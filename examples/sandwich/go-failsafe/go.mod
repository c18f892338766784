module example.com/shop

go 1.26.0

require github.com/failsafe-go/failsafe-go v0.9.8

require github.com/bits-and-blooms/bitset v1.24.4 // indirect
