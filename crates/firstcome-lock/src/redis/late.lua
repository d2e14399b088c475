-- Stands before the scripts that take something, behind mint.lua: turns away what is late.
--
-- ARGV  3 not after (µs of this server's clock)

if now > tonumber(ARGV[3]) then
    -- Its sender has given up on it and has undone, or will undo, what it asked for.
    return {-1, 0, now}
end
