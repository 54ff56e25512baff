"""What several algorithms of tours share. No algorithm of its own."""
