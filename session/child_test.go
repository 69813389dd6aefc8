package session

const roleEnv = "SESSION_TEST_ROLE"

func play(string) int { return 2 }
