-- Tells who holds a lock; stands before the scripts for operators, which leave alone whatever is no lock.

-- An owner as Redisson and this library write it: a UUID, a colon, the number of a thread or of an acquire.
local four = '%x%x%x%x'
local OWNER = '^' .. four .. four .. '%-' .. four .. '%-' .. four .. '%-' .. four .. '%-' .. four .. four .. four .. ':%-?%d+'
-- So many fields and bytes are looked at; a lock has fewer.
local MOST = 10000

-- Gives the owner of the lock KEYS[1] and how often it holds it, nil where the key is free, an error where it is no lock.
-- A string is the lock of whoever knows its token: it is taken for one if it was asked for as that, or looks like ours.
local function holder(as_token)
    local kind = redis.call('TYPE', KEYS[1]).ok
    local owner, holds, why = nil, nil, 'it does not say who holds it'
    if kind == 'none' then
        return nil
    elseif kind == 'string' then
        if redis.call('PTTL', KEYS[1]) < 0 then
            why = 'it has no end, as the lease of a lock has'
        elseif redis.call('STRLEN', KEYS[1]) <= MOST then
            owner, holds = redis.call('GET', KEYS[1]), '1'
            if not as_token and not string.match(owner, OWNER .. '$') then
                owner, why = nil, 'it may be a token lock, and was not asked for as one'
            end
        end
    elseif kind == 'hash' and redis.call('HLEN', KEYS[1]) <= MOST then
        local fields = redis.call('HGETALL', KEYS[1])
        for i = 1, #fields, 2 do
            local field, value = fields[i], fields[i + 1]
            -- A read/write lock of Redisson's has its mode beside those who have it.
            if field ~= 'mode' then
                local is_owner = string.match(field, OWNER .. '$') or string.match(field, OWNER .. ':write$')
                if not is_owner or not string.match(value, '^%d+$') then
                    owner = nil
                    break
                end
                owner, holds = field, value
            end
        end
    end
    if not owner then
        return redis.error_reply('WRONGTYPE the key is a ' .. kind .. ' and no lock: ' .. why)
    end
    return owner, holds
end
