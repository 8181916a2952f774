//go:build tools

// Package tools declares which program go.mod and go.sum belong to.
package tools

import _ "github.com/Shopify/toxiproxy/v2/cmd/server"
