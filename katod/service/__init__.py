"""What a service needs: one instance, a word to the service manager, a word to the desktop."""
