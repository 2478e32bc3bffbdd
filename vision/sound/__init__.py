"""What the microphone tells: slap onsets."""
