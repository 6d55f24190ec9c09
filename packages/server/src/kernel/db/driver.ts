/**
 * The PostgreSQL driver, with its faults mended while it is loaded; whoever needs the driver takes it from here. As published (3.4.9), a
 * connection that is lost at the wrong moment ends the whole process (porsager/postgres#1154), never writes again, leaves queries without
 * an answer, or takes statements of a transaction that is gone: `outage.test.ts` or `kernel/db/connection/dead-connections.test.ts` fails without any of the mends. And
 * statements outlive their end, and connections take turns, see below. A fault whose text is not found any more is left to the driver;
 * the tests tell whether that is right.
 */
import { registerHooks } from 'node:module';

interface Mend {
  file: string;
  fault: string;
  remedy: string;
}

const MENDS: readonly Mend[] = [
  // What was about to be written belongs to the connection that is gone, and a timer that is cleared but not forgotten
  // would never be set again.
  {
    file: 'connection.js',
    fault: 'clearImmediate(nextWriteTimer)\n    socket.removeListener',
    remedy: 'clearImmediate(nextWriteTimer)\n    chunk = nextWriteTimer = null\n    socket.removeListener',
  },
  // What a lost connection had in hand is over, after a reset too. Kept, it would take the refusal of the next connection for its
  // own answer, and whoever waits for that one would wait for ever. So is the attempt of one that is taken and ended without a word,
  // as a port without PostgreSQL behind it does: as published, it is made again at once, 1700 times a second, and nobody is told.
  {
    file: 'connection.js',
    fault: `
    if (initial)
      return reconnect()

    !hadError && (query || sent.length) && error(Errors.connection('CONNECTION_CLOSED', options, socket))
`,
    remedy: `
    results = errorResponse = null
    result = new Result()
    initial && !hadError && error(Errors.connection('CONNECTION_CLOSED', options, socket))
    if (initial)
      return (query = null, reconnect())

    ;(query || sent.length) && error(Errors.connection('CONNECTION_CLOSED', options, socket))
    query = null
`,
  },
  // Whoever waits for the end of this connection is told of it, and one that was ended before its turn is not made any more.
  {
    file: 'connection.js',
    fault: "onclose(connection, Errors.connection('CONNECTION_CLOSED', options, socket))",
    remedy:
      "onclose(connection, Errors.connection('CONNECTION_CLOSED', options, socket))\n    !initial && ended && (ended(), ending = ended = null)",
  },
  {
    file: 'connection.js',
    fault: 'setTimeout(connect, closedTime',
    remedy: 'setTimeout(() => initial && connect(), closedTime',
  },
  // One that is ended while it is made would stay, with nobody to speak to the other side; so would one whose other side does not
  // end it as well.
  {
    file: 'connection.js',
    fault: "socket.readyState === 'open' && socket.end(b().X().end())",
    remedy: `socket.readyState === 'open'
        ? (socket.end(b().X().end()), setTimeout((left) => left.destroy(), 1000, socket).unref())
        : socket.destroy()`,
  },
  // Lost while it asks for the types of arrays: whoever waits for the connection is told, and nobody waits for this promise.
  {
    file: 'connection.js',
    fault: 'return fetchArrayTypes()',
    remedy: 'return fetchArrayTypes().catch(() => {})',
  },
  // When no connection can be made, whoever waits for one is told too. As published, only the one statement that asked for the
  // connection is: under load the others would pile up, be refused for their age, and all be done after the outage.
  {
    file: 'connection.js',
    fault: 'initial && (queryError(initial, err), initial = null)',
    remedy: 'initial && (queryError(initial, err), initial = null, connection.refused = err)',
  },
  {
    file: 'connection.js',
    fault: 'connectTimer.cancel()\n\n    if (initial) {',
    remedy: 'connectTimer.cancel()\n    connection.refused = null\n\n    if (initial) {',
  },
  {
    file: 'index.js',
    fault: 'queries.length && connect(c, queries.shift())\n',
    remedy: `while (queries.length && connections.every(({ refused }) => refused))
      queries.shift().reject(c.refused)
    queries.length && connect(c, queries.shift())
`,
  },
  // An address without a name is what the certificate must be for; as published, one for `localhost` was taken for any of them.
  {
    file: 'connection.js',
    fault: 'servername: net.isIP(socket.host) ? undefined : socket.host',
    remedy: 'servername: net.isIP(socket.host) ? undefined : socket.host,\n      host: socket.host',
  },
  // A server that says that it speaks no TLS is taken at its word.
  {
    file: 'connection.js',
    fault: "if (!canSSL && ssl === 'prefer')\n        return connected()",
    remedy: `if (!canSSL)
        return ssl === 'prefer'
          ? connected()
          : socket.destroy(Object.assign(new Error('the server does not speak TLS'), { code: 'TLS_REFUSED' }))`,
  },
  // For whoever looks after connections that have fallen silent (`kernel/db/connection/dead-connections.ts`).
  {
    file: 'connection.js',
    fault: 'count: 0,\n    id\n',
    remedy: `count: 0,
    get awaited() {
      return socket && !initial && (query || sent.length) ? { pid: backend.pid, received: socket.bytesRead } : null
    },
    lose: (nobody) => {
      nobody && (connection.refused = Errors.connection('CONNECT_TIMEOUT', options, socket))
      socket && socket.destroy()
    },
    id
`,
  },
  {
    file: 'index.js',
    fault: '    PostgresError,\n    options,\n',
    remedy: '    PostgresError,\n    connections,\n    options,\n',
  },
  // Tests see each statement (`statements/watch.ts`). The driver's own `debug` does not say where the template stands, and changes errors.
  {
    file: 'index.js',
    fault: 'onnotice        : o.onnotice,\n',
    remedy: 'onnotice        : o.onnotice,\n    onstatement     : o.onstatement,\n',
  },
  {
    file: 'connection.js',
    fault: "typeof options.debug === 'function'",
    remedy:
      "options.onstatement && q.tagged && options.onstatement(string, q.origin)\n    typeof options.debug === 'function'",
  },
  // The connection may serve others by now.
  {
    file: 'index.js',
    fault: 'new Promise((_, reject) => connection.onclose = reject)',
    remedy: `new Promise((_, reject) => {
          const lost = (error) => (gone = error, reject(error))
          connection.onclose = lost
        })`,
  },
  {
    file: 'index.js',
    fault: ', prepare = null\n',
    remedy: ', prepare = null\n      , gone = null\n',
  },
  {
    file: 'index.js',
    fault: 'q.catch(e => uncaughtError || (uncaughtError = e))\n',
    remedy:
      'q.catch(e => uncaughtError || (uncaughtError = e))\n        if (gone)\n          return q.reject(gone)\n',
  },
  {
    file: 'index.js',
    fault: `
    const sql = Sql(handler)
    sql.release = () => {
      c.reserved = null
`,
    remedy: `
    let gone = null
    c.onclose = (error) => {
      gone = error
      while (queue.length)
        queue.shift().reject(error)
    }
    const sql = Sql(handler)
    sql.release = () => {
      if (gone)
        return
      c.reserved = c.onclose = null
`,
  },
  {
    file: 'index.js',
    fault: 'c.queue === full\n        ? queue.push(q)',
    remedy: 'gone\n        ? q.reject(gone)\n        : c.queue === full\n        ? queue.push(q)',
  },
  // A cursor whose connection is lost while nobody asks for more has failed, and not come to its end.
  {
    file: 'query.js',
    fault: 'return { done: true }\n\n          prev && prev()',
    remedy: 'return lost ? Promise.reject(lost) : { done: true }\n\n          prev && prev()',
  },
  {
    file: 'query.js',
    fault: 'resolve({ done: true }))\n            this.reject = x => (this.active = false, reject(x))',
    remedy:
      'resolve({ done: true }))\n            this.reject = x => (this.active = false, lost = x, reject(x))',
  },
  {
    file: 'query.js',
    fault: 'let prev\n',
    remedy: 'let prev, lost\n',
  },
  {
    file: 'connection.js',
    fault: `    try {
      const x = await Promise.resolve(query.cursorFn(result))
`,
    remedy: `    const suspended = query
    try {
      const x = await Promise.resolve(query.cursorFn(result))
      if (query !== suspended)
        return
`,
  },
  // The connection that was used last is used next. In turn, each statement met a server process that had not worked for long: one
  // more of them woke up for each, with nothing in the processor's caches, and a delivery took a seventeenth longer.
  {
    file: 'queue.js',
    fault: 'push: (x) => (xs.push(x), x),',
    remedy: 'push: (x) => (xs.push(x), x),\n    pop: () => xs.pop(),',
  },
  { file: 'index.js', fault: '? open.shift()', remedy: '? open.pop()' },
  { file: 'index.js', fault: 'go(open.shift(), query)', remedy: 'go(open.pop(), query)' },
  // V8 takes a function that is assigned to a property where it is written for one that lives long, and allocates it with the old
  // objects. Each of these keeps its statement or transaction, with parameters and rows, until the next full collection: a fifth of
  // all that is allocated for statements was copied twice, and collections took ten times as long (`short-lived.test.ts`). With a
  // name of its own first it is a function like any other.
  {
    file: 'query.js',
    fault: `
    this.resolve = x => (this.active = false, resolve(x))
    this.reject = x => (this.active = false, reject(x))
`,
    remedy: `
    const resolved = x => (this.active = false, resolve(x))
    const rejected = x => (this.active = false, reject(x))
    this.resolve = resolved
    this.reject = rejected
`,
  },
  {
    file: 'index.js',
    fault: 'acc[name] = (x) => new Parameter(x, type.to)\n',
    remedy: 'const ofType = (x) => new Parameter(x, type.to)\n      acc[name] = ofType\n',
  },
  {
    file: 'index.js',
    fault: 'sql.prepare = x => prepare = x.replace(/[^a-z0-9$-_. ]/gi)\n',
    remedy: 'const toPrepare = x => prepare = x.replace(/[^a-z0-9$-_. ]/gi)\n      sql.prepare = toPrepare\n',
  },
  {
    file: 'index.js',
    fault: `c.reserved = () => queries.length
        ? c.execute(queries.shift())
        : move(c, reserved)
`,
    remedy: `const next = () => queries.length
        ? c.execute(queries.shift())
        : move(c, reserved)
      c.reserved = next
`,
  },
];

const hooks = registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const mends = MENDS.filter(({ file }) => url.endsWith(`/node_modules/postgres/src/${file}`));
    if (mends.length === 0) return loaded;
    const source = mends.reduce(
      (text, { fault, remedy }) => text.replace(fault, () => remedy),
      Buffer.from(loaded.source as Uint8Array).toString(),
    );
    return { ...loaded, source };
  },
});

/** Connects to PostgreSQL, like the driver's own function. */
export const { default: postgres } = await import('postgres');
hooks.deregister();
