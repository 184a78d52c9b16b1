"""What a server's own log says about its slow turns: read in bounded memory, put in order, and explained."""
