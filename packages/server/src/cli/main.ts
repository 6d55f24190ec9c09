/** The command line `signalbox`. */
import { fileTrouble } from '@signalbox/embedded-postgres/file-trouble';
import { Command, Option } from 'commander';
import { describeConfig, loadConfig, ROLES } from '../kernel/config/config.ts';
import { VERSION } from '../kernel/config/version.ts';
import { isConnectionLost, isTlsTrouble, isUnavailable } from '../kernel/db/unavailable.ts';
import { isExplained } from '../kernel/errors.ts';
import { MANIFESTS } from '../manifests.ts';
import { addCalledCommands } from './commands.ts';
import { isTerminal, paint, printRecord } from './terminal.ts';

/** Of a server the output is its log, of any other command its result. */
let isServing = false;
let isLossTold = false;

interface ServeFlags {
  dev?: boolean;
  home?: string;
  host?: string;
  port?: string;
  probePort?: string;
  publicUrl?: string;
  roles?: string;
  workers?: string;
  logLevel?: string;
  json: boolean;
}

function configOf(self: Command) {
  const { dev, home, host, port, probePort, publicUrl, roles, workers, logLevel } =
    self.optsWithGlobals<ServeFlags>();
  return loadConfig({
    manifests: MANIFESTS,
    mode: dev ? 'development' : 'production',
    env: process.env,
    flags: {
      home,
      host,
      port,
      'probe-port': probePort,
      'public-url': publicUrl,
      roles,
      workers,
      'log-level': logLevel,
    },
    terminal: isTerminal(),
  });
}

function withServeOptions(command: Command): Command {
  return command
    .option('--dev', 'development mode: embedded database, demo tenant, private webhook targets')
    .option('--host <host>', 'address to listen on')
    .option('--port <port>', 'port to listen on')
    .option('--probe-port <port>', 'a port for /healthz, /readyz and /metrics alone')
    .option('--public-url <url>', 'origin under which the outside reaches this deployment')
    .option('--roles <roles>', `what this process does, of ${ROLES.join(',')}`)
    .option('--workers <count>', 'processes to run on this machine')
    .option('--log-level <level>', 'trace, debug, info, warn, error or silent');
}

async function createProgram(): Promise<Command> {
  const program = new Command('signalbox')
    .description('Signalbox: a customer-engagement platform that you own')
    .version(VERSION)
    .option('--home <folder>', 'home of the installation (default: ./.signalbox)')
    .addOption(new Option('--json', 'print results as JSON').default(false))
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('(add --help for what is possible)')
    .addHelpText(
      'after',
      `
Examples:
  $ signalbox serve --dev              run everything on this machine, with a demo tenant
  $ signalbox tenant create acme       create a tenant
  $ signalbox oauth create crm --json  create an OAuth client and print it as JSON`,
    );
  withServeOptions(program.command('serve').description('run the server'))
    .addHelpText(
      'after',
      '\nExamples:\n  $ signalbox serve --dev --port 8500\n  $ signalbox serve --roles worker --workers 4',
    )
    .action(async (_options, self: Command) => {
      isServing = true;
      const { serve } = await import('./serve.ts');
      await serve(configOf(self));
    });
  withServeOptions(program.command('config').description('print the settings in force, secrets masked'))
    .addHelpText('after', '\nExample:\n  $ signalbox config --dev --json')
    .action((_options, self: Command) => {
      printRecord(describeConfig(configOf(self), MANIFESTS), self.optsWithGlobals<ServeFlags>().json);
    });
  await addCalledCommands(program, process.argv.slice(2));
  return program;
}

/** Failures that a sentence explains; anything else deserves its stack. */
function explain(error: unknown): string {
  if (isExplained(error)) return error.message;
  const { code = '', message, address, port, hostname, path, syscall } = error as Failure;
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} is in use already: stop the other program or choose another with --port (or --probe-port).`;
    case 'EADDRNOTAVAIL':
      return `This machine has no address ${address}: choose another with --host.`;
    case 'ECONNREFUSED':
    case 'CONNECT_TIMEOUT':
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return `No database answers at ${address}:${port}: is DATABASE_URL right?`;
    case 'ENOTFOUND':
      return `There is no host ${hostname}: is ${hostname === process.env.HOST ? 'HOST' : 'DATABASE_URL'} right?`;
    case '28P01': // wrong password
    case '28000': // unknown user
    case '3D000': // unknown database
      return `The database refuses: ${message}. Is DATABASE_URL right?`;
    case '42501': // insufficient privilege
      return `The database refuses: ${message}. The role of DATABASE_URL must own what it works with: the database, or a schema of its own.`;
    case '3F000': // no schema to create in
      return `The database refuses: ${message}. Is there a schema that the search_path of the role names?`;
  }
  if (isTlsTrouble(code))
    return `No TLS with the database: ${message}. Is sslmode in DATABASE_URL right, and is who signed its certificate known (sslrootcert)?`;
  if (isConnectionLost(code))
    return `The connection to the database was lost: ${message}. What was begun may not be done.`;
  if (isUnavailable(code)) return `The database cannot do this now: ${message}.`;
  // A file or folder that cannot be read or written.
  const trouble = fileTrouble(error);
  if (path !== undefined && trouble !== undefined) return `Cannot use ${path}: ${trouble}.`;
  if (path !== undefined && syscall !== undefined) return message!;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

type Failure = Partial<NodeJS.ErrnoException & { address: string; port: number; hostname: string }>;

// Whoever read the output is gone: `head` has seen enough, or `tee` was ended by the same Ctrl-C. What was begun is finished
// all the same, and a server stops in order. A terminal that was closed answers with EIO. What else goes wrong is most often
// a disk that is full: a server goes on without its log, and a command that nobody has the result of has failed, but ends in
// order too, since thrown here the error would leave PostgreSQL behind.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE' || code === 'EIO') return;
    if (!isServing) process.exitCode = 1;
    if (stream === process.stderr || isLossTold) return;
    isLossTold = true;
    const lost = isServing
      ? 'The log cannot be written, and the server goes on without it'
      : 'The result cannot be written';
    process.stderr.write(`${paint('red', 'Error:')} ${lost}: ${message}.\n`);
  });

try {
  await (await createProgram()).parseAsync();
} catch (error) {
  process.stderr.write(`${paint('red', 'Error:')} ${explain(error)}\n`);
  process.exit(1); // whatever was half open does not keep a failed command alive
}
