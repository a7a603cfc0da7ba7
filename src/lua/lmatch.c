/*
 * lmatch.c - Lua's patterns for code behind a fence: find, match, gmatch and
 * gsub whose steps count against its budget.
 *
 * The time that a pattern takes can be a high power of the text's length:
 * ("a"):rep(3000):find((".-"):rep(30) .. "b") ends in no lifetime.  Lua's own
 * matcher can neither be counted nor stopped from outside, so here is one that
 * counts.  The language is that of section 6.4.1 of the Lua 5.4 manual, to the
 * letter, and so are the errors; t/526-fence.lua compares the two.
 *
 * A step is one item of the pattern tried at one place; sets and plain texts
 * count by their length, too.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lpolicy.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

enum { DEEPEST = 200, CAPTURES = 32, UNFINISHED = -1, POSITION = -2 };

/* Bytes that are compared in the time of a step. */
enum { AT_ONCE = 16 };

struct matcher {
    lua_State *L;
    struct lp_world *w;
    const char *s, *end, *p_end; /* the text; the pattern's end */
    int depth;                   /* calls that are left */
    int level;                   /* captures, finished or not */
    struct {
        const char *at;
        ptrdiff_t len;
    } capture[CAPTURES];
};

static const char *match(struct matcher *m, const char *s, const char *p);

static void step(struct matcher *m, size_t bytes)
{
    lp_budget_use(m->L, m->w, 1 + bytes / AT_ONCE);
}

/* ---- single characters ---------------------------------------------------- */

static int class_holds(int c, int class)
{
    int holds;

    switch (tolower(class)) {
    case 'a':
        holds = isalpha(c);
        break;
    case 'c':
        holds = iscntrl(c);
        break;
    case 'd':
        holds = isdigit(c);
        break;
    case 'g':
        holds = isgraph(c);
        break;
    case 'l':
        holds = islower(c);
        break;
    case 'p':
        holds = ispunct(c);
        break;
    case 's':
        holds = isspace(c);
        break;
    case 'u':
        holds = isupper(c);
        break;
    case 'w':
        holds = isalnum(c);
        break;
    case 'x':
        holds = isxdigit(c);
        break;
    default:
        return class == c;
    }
    return isupper(class) ? !holds : holds != 0;
}

/* The place after the item at p, which is a character, a class or a set. */
static const char *item_end(struct matcher *m, const char *p)
{
    switch (*p++) {
    case '%':
        if (p == m->p_end)
            luaL_error(m->L, "malformed pattern (ends with '%%')");
        return p + 1;
    case '[':
        p += *p == '^';
        do { /* a first ']' stands for itself */
            if (p == m->p_end)
                luaL_error(m->L, "malformed pattern (missing ']')");
            if (*p++ == '%' && p < m->p_end)
                p++;
        } while (*p != ']');
        return p + 1;
    default:
        return p;
    }
}

/* Whether the set from '[' at p to ']' at last holds c. */
static int set_holds(int c, const char *p, const char *last)
{
    int holds = 1;

    if (p[1] == '^') {
        holds = 0;
        p++;
    }
    while (++p < last) {
        if (*p == '%') {
            p++;
            if (class_holds(c, (unsigned char)*p))
                return holds;
        } else if (p[1] == '-' && p + 2 < last) {
            p += 2;
            if ((unsigned char)p[-2] <= c && c <= (unsigned char)*p)
                return holds;
        } else if ((unsigned char)*p == c) {
            return holds;
        }
    }
    return !holds;
}

/* Whether the item from p to after is there at s. */
static int single(struct matcher *m, const char *s, const char *p,
                  const char *after)
{
    int c;

    step(m, (size_t)(after - p));
    if (s >= m->end)
        return 0;
    c = (unsigned char)*s;
    switch (*p) {
    case '.':
        return 1;
    case '%':
        return class_holds(c, (unsigned char)p[1]);
    case '[':
        return set_holds(c, p, after - 1);
    default:
        return (unsigned char)*p == c;
    }
}

/* ---- items ---------------------------------------------------------------- */

/* %bxy, p at x */
static const char *balance(struct matcher *m, const char *s, const char *p)
{
    int open = 1;

    if (p >= m->p_end - 1)
        luaL_error(m->L, "malformed pattern (missing arguments to '%%b')");
    if (s >= m->end || *s != *p)
        return NULL;
    while (++s < m->end) {
        step(m, 0);
        if (*s == p[1]) {
            if (--open == 0)
                return s + 1;
        } else if (*s == *p) {
            open++;
        }
    }
    return NULL;
}

static const char *most(struct matcher *m, const char *s, const char *p,
                        const char *after)
{
    ptrdiff_t i = 0;

    while (single(m, s + i, p, after))
        i++;
    for (; i >= 0; i--) {
        const char *end = match(m, s + i, after + 1);
        if (end != NULL)
            return end;
    }
    return NULL;
}

static const char *least(struct matcher *m, const char *s, const char *p,
                         const char *after)
{
    for (;; s++) {
        const char *end = match(m, s, after + 1);
        if (end != NULL)
            return end;
        if (!single(m, s, p, after))
            return NULL;
    }
}

static const char *open_capture(struct matcher *m, const char *s, const char *p,
                                int what)
{
    const char *end;

    if (m->level >= CAPTURES)
        luaL_error(m->L, "too many captures");
    m->capture[m->level].at = s;
    m->capture[m->level].len = what;
    m->level++;
    end = match(m, s, p);
    if (end == NULL)
        m->level--;
    return end;
}

static const char *close_capture(struct matcher *m, const char *s,
                                 const char *p)
{
    int i = m->level - 1;
    const char *end;

    while (i >= 0 && m->capture[i].len != UNFINISHED)
        i--;
    if (i < 0)
        luaL_error(m->L, "invalid pattern capture");
    m->capture[i].len = s - m->capture[i].at;
    end = match(m, s, p);
    if (end == NULL)
        m->capture[i].len = UNFINISHED;
    return end;
}

/* %1 to %9 */
static const char *same_again(struct matcher *m, const char *s, int digit)
{
    int i = digit - '1';
    size_t n;

    if (i < 0 || i >= m->level || m->capture[i].len == UNFINISHED)
        luaL_error(m->L, "invalid capture index %%%d", i + 1);
    n = (size_t)m->capture[i].len; /* of a position: more than any text */
    step(m, n <= (size_t)(m->end - s) ? n : 0);
    if (n > (size_t)(m->end - s) || memcmp(m->capture[i].at, s, n) != 0)
        return NULL;
    return s + n;
}

/* %f[set], p at [ */
static const char *frontier(struct matcher *m, const char *s, const char *p)
{
    const char *after;

    if (*p != '[')
        luaL_error(m->L, "missing '[' after '%%f' in pattern");
    after = item_end(m, p);
    step(m, (size_t)(after - p));
    if (set_holds(s == m->s ? 0 : (unsigned char)s[-1], p, after - 1) ||
        !set_holds((unsigned char)*s, p, after - 1))
        return NULL;
    return after;
}

/* An item with what is behind it; *p and *s move on, and 1 is returned, where
 * the rest is to be matched by the caller. */
static int item(struct matcher *m, const char **s, const char **p)
{
    const char *after = item_end(m, *p), *end;

    switch (*after) {
    case '?':
        if (single(m, *s, *p, after) &&
            (end = match(m, *s + 1, after + 1)) != NULL) {
            *s = end;
            return 0;
        }
        *p = after + 1;
        return 1;
    case '+':
        *s = single(m, *s, *p, after) ? most(m, *s + 1, *p, after) : NULL;
        return 0;
    case '*':
        *s = most(m, *s, *p, after);
        return 0;
    case '-':
        *s = least(m, *s, *p, after);
        return 0;
    default:
        if (!single(m, *s, *p, after)) {
            *s = NULL;
            return 0;
        }
        ++*s;
        *p = after;
        return 1;
    }
}

/* The same for an item that begins with %. */
static int escaped(struct matcher *m, const char **s, const char **p)
{
    const char *after;

    switch ((*p)[1]) {
    case 'b':
        *s = balance(m, *s, *p + 2);
        *p += 4;
        return *s != NULL;
    case 'f':
        after = frontier(m, *s, *p + 2);
        if (after == NULL)
            *s = NULL;
        *p = after;
        return after != NULL;
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        *s = same_again(m, *s, (*p)[1]);
        *p += 2;
        return *s != NULL;
    default:
        return item(m, s, p);
    }
}

/* The end of what the pattern from p on matches at s, or NULL. */
static const char *match(struct matcher *m, const char *s, const char *p)
{
    int more = 1;

    if (m->depth-- == 0)
        luaL_error(m->L, "pattern too complex");
    while (more && p != m->p_end) {
        step(m, 0);
        if (*p == '(') {
            s = p[1] == ')' ? open_capture(m, s, p + 2, POSITION)
                            : open_capture(m, s, p + 1, UNFINISHED);
            more = 0;
        } else if (*p == ')') {
            s = close_capture(m, s, p + 1);
            more = 0;
        } else if (*p == '$' && p + 1 == m->p_end) {
            s = s == m->end ? s : NULL;
            more = 0;
        } else if (*p == '%') {
            more = escaped(m, &s, &p);
        } else {
            more = item(m, &s, &p);
        }
    }
    m->depth++;
    return s;
}

/* ---- results -------------------------------------------------------------- */

/* Pushes capture i of the match from s to end; capture 0 of none is all. */
static void push_capture(struct matcher *m, int i, const char *s,
                         const char *end)
{
    if (i >= m->level) {
        if (i != 0)
            luaL_error(m->L, "invalid capture index %%%d", i + 1);
        lua_pushlstring(m->L, s, (size_t)(end - s));
    } else if (m->capture[i].len == UNFINISHED) {
        luaL_error(m->L, "unfinished capture");
    } else if (m->capture[i].len == POSITION) {
        lua_pushinteger(m->L, m->capture[i].at - m->s + 1);
    } else {
        lua_pushlstring(m->L, m->capture[i].at, (size_t)m->capture[i].len);
    }
}

/* All of them; without any the whole match, if it is wanted. */
static int push_captures(struct matcher *m, const char *s, const char *end,
                         int whole)
{
    int n = m->level == 0 && whole ? 1 : m->level;

    luaL_checkstack(m->L, n, "too many captures");
    for (int i = 0; i < n; i++)
        push_capture(m, i, s, end);
    return n;
}

/* ---- the functions -------------------------------------------------------- */

static const char *begin(struct matcher *m, lua_State *L, int text, int pattern)
{
    size_t n, pn;
    const char *p;

    m->L = L;
    m->w = lp_lib_world(L);
    m->s = luaL_checklstring(L, text, &n);
    m->end = m->s + n;
    p = luaL_checklstring(L, pattern, &pn);
    m->p_end = p + pn;
    return p;
}

static const char *match_at(struct matcher *m, const char *s, const char *p)
{
    m->level = 0;
    m->depth = DEEPEST;
    return match(m, s, p);
}

/* The offset that argument i says, from 0; may be past the end. */
static size_t start(lua_State *L, int i, size_t n)
{
    lua_Integer at = luaL_optinteger(L, i, 1);

    if (at > 0)
        return (size_t)at - 1;
    return at == 0 || at < -(lua_Integer)n ? 0 : n - (size_t)-at;
}

static const char *find_plain(struct matcher *m, const char *s, const char *p,
                              size_t n)
{
    if (n == 0)
        return s;
    while ((size_t)(m->end - s) >= n) {
        const char *at = memchr(s, *p, (size_t)(m->end - s) - n + 1);
        step(m, at != NULL ? (size_t)(at - s) + n : (size_t)(m->end - s));
        if (at == NULL || memcmp(at, p, n) == 0)
            return at;
        s = at + 1;
    }
    return NULL;
}

static int is_plain(const char *p, const char *end)
{
    for (; p < end; p++)
        if (*p != '\0' && strchr("^$*+?.([%-", *p) != NULL)
            return 0;
    return 1;
}

static int find(lua_State *L, int positions)
{
    struct matcher m;
    const char *p = begin(&m, L, 1, 2), *s, *end;
    size_t n = (size_t)(m.end - m.s), at = start(L, 3, n);
    int anchor;

    if (at > n) {
        lua_pushnil(L);
        return 1;
    }
    s = m.s + at;
    if (positions && (lua_toboolean(L, 4) || is_plain(p, m.p_end))) {
        s = find_plain(&m, s, p, (size_t)(m.p_end - p));
        if (s == NULL) {
            lua_pushnil(L);
            return 1;
        }
        lua_pushinteger(L, s - m.s + 1);
        lua_pushinteger(L, s - m.s + (m.p_end - p));
        return 2;
    }
    anchor = *p == '^';
    p += anchor;
    do {
        end = match_at(&m, s, p);
        if (end != NULL && positions) {
            lua_pushinteger(L, s - m.s + 1);
            lua_pushinteger(L, end - m.s);
            return push_captures(&m, s, end, 0) + 2;
        }
        if (end != NULL)
            return push_captures(&m, s, end, 1);
    } while (s++ < m.end && !anchor);
    lua_pushnil(L);
    return 1;
}

int lp_lib_find(lua_State *L)
{
    return find(L, 1);
}

int lp_lib_match(lua_State *L)
{
    return find(L, 0);
}

/* Upvalues: world, text, pattern, where to go on, end of the last match. */
static int gmatch_step(lua_State *L)
{
    struct matcher m;
    const char *p = begin(&m, L, lua_upvalueindex(2), lua_upvalueindex(3));
    const char *s = m.s + lua_tointeger(L, lua_upvalueindex(4)), *end;
    const char *last = m.s + lua_tointeger(L, lua_upvalueindex(5));

    for (; s <= m.end; s++) {
        end = match_at(&m, s, p);
        if (end == NULL || end == last)
            continue;
        lua_pushinteger(L, end - m.s);
        lua_copy(L, -1, lua_upvalueindex(4));
        lua_replace(L, lua_upvalueindex(5));
        return push_captures(&m, s, end, 1);
    }
    lua_pushinteger(L, m.end - m.s + 1);
    lua_replace(L, lua_upvalueindex(4));
    return 0;
}

int lp_lib_gmatch(lua_State *L)
{
    size_t n, at;

    luaL_checklstring(L, 1, &n);
    luaL_checkstring(L, 2);
    at = start(L, 3, n);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    lua_pushinteger(L, (lua_Integer)(at > n ? n + 1 : at));
    lua_pushinteger(L, -1);
    lua_pushcclosure(L, gmatch_step, 5);
    return 1;
}

/* Appends the text at index 3 with captures in place of %0 to %9. */
static void add_text(struct matcher *m, luaL_Buffer *b, const char *s,
                     const char *end)
{
    size_t n;
    const char *r = lua_tolstring(m->L, 3, &n), *last = r + n, *p;

    for (; (p = memchr(r, '%', (size_t)(last - r))) != NULL; r = p + 1) {
        luaL_addlstring(b, r, (size_t)(p - r));
        p++;
        if (*p == '%') {
            luaL_addchar(b, '%');
        } else if (*p == '0') {
            luaL_addlstring(b, s, (size_t)(end - s));
        } else if (isdigit((unsigned char)*p)) {
            push_capture(m, *p - '1', s, end);
            luaL_tolstring(m->L, -1, NULL); /* a position is a number */
            lua_remove(m->L, -2);
            luaL_addvalue(b);
        } else {
            luaL_error(m->L, "invalid use of '%%' in replacement string");
        }
    }
    luaL_addlstring(b, r, (size_t)(last - r));
}

/* Appends what stands for the match; whether that is something new. */
static int add_value(struct matcher *m, luaL_Buffer *b, const char *s,
                     const char *end, int type)
{
    lua_State *L = m->L;

    if (type == LUA_TFUNCTION) {
        lua_pushvalue(L, 3);
        lua_call(L, push_captures(m, s, end, 1), 1);
    } else if (type == LUA_TTABLE) {
        push_capture(m, 0, s, end);
        lua_gettable(L, 3);
    } else {
        add_text(m, b, s, end);
        return 1;
    }
    if (!lua_toboolean(L, -1)) {
        lua_pop(L, 1);
        luaL_addlstring(b, s, (size_t)(end - s));
        return 0;
    }
    if (!lua_isstring(L, -1))
        luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
    luaL_addvalue(b);
    return 1;
}

int lp_lib_gsub(lua_State *L)
{
    struct matcher m;
    const char *p = begin(&m, L, 1, 2), *s = m.s, *last = NULL;
    int type = lua_type(L, 3), anchor = *p == '^', changed = 0;
    lua_Integer most_times = luaL_optinteger(L, 4, m.end - m.s + 1), n = 0;
    luaL_Buffer b;

    if (type != LUA_TNUMBER && type != LUA_TSTRING && type != LUA_TFUNCTION &&
        type != LUA_TTABLE)
        return luaL_typeerror(L, 3, "string/function/table");
    if (type == LUA_TNUMBER)
        lua_tostring(L, 3);
    p += anchor;
    luaL_buffinit(L, &b);
    while (n < most_times) {
        const char *end = match_at(&m, s, p);
        if (end != NULL && end != last) {
            n++;
            changed |= add_value(&m, &b, s, end, type);
            s = last = end;
        } else if (s < m.end) {
            luaL_addchar(&b, *s++);
        } else {
            break;
        }
        if (anchor)
            break;
    }
    if (!changed) {
        lua_pushvalue(L, 1);
    } else {
        luaL_addlstring(&b, s, (size_t)(m.end - s));
        luaL_pushresult(&b);
    }
    lua_pushinteger(L, n);
    return 2;
}
