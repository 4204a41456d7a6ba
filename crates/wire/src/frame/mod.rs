//! Captured frames: link layer, tunnels, IP and transport in one decode.
