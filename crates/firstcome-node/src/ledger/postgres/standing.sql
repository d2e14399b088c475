SELECT through, term FROM settled WHERE one = 1 FOR UPDATE
