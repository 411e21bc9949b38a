import { type App, GRACE_MS, makeApp } from './app.ts';
import { describeStartFailure, loadConfig } from './platform/config.ts';
import { PortLifecycle } from './platform/http/lifecycle.ts';

/** Work still running after the grace period ends with the process; the next start resumes it. */
const FORCED_EXIT_MS = 5_000;

/** Starts the server as configured by the environment, and shuts it down gracefully on SIGTERM or SIGINT. */
async function main(): Promise<void> {
  const { config, hints } = loadConfig();
  for (const hint of hints) process.stderr.write(`${hint}\n`);
  // Opened before the schema is migrated, so that health checks are answered meanwhile.
  const port = new PortLifecycle();
  await port.listen(config.host, config.port);
  // The first process of a container ignores signals it does not handle. One listener serves for the process's
  // lifetime, because replacing a listener loses a signal that has arrived but is not dispatched yet. So early, no work
  // can be lost.
  let handleSignal: (signal: NodeJS.Signals) => void = exitAtOnce;
  process.on('SIGTERM', () => handleSignal('SIGTERM'));
  process.on(
    'SIGINT',
    oncePerKeyPress(() => handleSignal('SIGINT')),
  );
  // A restart reads what the disk has; a repeated flush would report success for data that is gone.
  const app = await makeApp(config, { port, onDatabaseLost: exitAtOnce });
  // Requests are answered shortly before startup completes.
  const early: NodeJS.Signals[] = [];
  handleSignal = (signal) => (early.length === 0 ? void early.push(signal) : exitAtOnce());
  await app.listen();
  handleSignal = stopOf(app, config.drainSeconds * 1_000);
  early.forEach(handleSignal);
}

/** Where a shell has replaced itself by the service, npm passes on the Ctrl-C that the terminal has sent already. */
const SAME_KEY_PRESS_MS = 1_000;

function oncePerKeyPress(handle: () => void): () => void {
  let handledAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - handledAt < SAME_KEY_PRESS_MS) return;
    handledAt = performance.now();
    handle();
  };
}

const exitAtOnce = (): void => process.exit(1);

/** SIGTERM drains first; SIGINT, sent by a person at the keyboard, does not. A second signal exits immediately. */
function stopOf(app: App, drainMs: number): (signal: NodeJS.Signals) => void {
  let stopping = false;
  return (signal) => {
    if (stopping) exitAtOnce();
    stopping = true;
    const waitMs = signal === 'SIGTERM' ? drainMs : 0;
    app.log.info({ signal, drainMs: waitMs }, 'stopping');
    setTimeout(
      () => {
        app.log.fatal('did not stop in time; what was under way is found again at the next start');
        process.exit(1);
      },
      waitMs + GRACE_MS + FORCED_EXIT_MS,
    );
    app.close(GRACE_MS, waitMs).then(
      () => process.exit(0),
      (error: unknown) => {
        app.log.fatal({ err: error }, 'could not stop in order');
        process.exit(1);
      },
    );
  };
}

main().catch((error: unknown) => {
  process.stderr.write(`reelgate cannot start: ${describeStartFailure(error)}\n`);
  process.exit(1);
});
