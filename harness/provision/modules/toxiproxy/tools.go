//go:build tools

// Package tools has Go know which program go.mod and go.sum are for.
package tools

import _ "github.com/Shopify/toxiproxy/v2/cmd/server"
