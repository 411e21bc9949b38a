import { makeApp } from './app.ts';
import { compactMemory } from './platform/compaction.ts';
import { ConfigError, loadConfig } from './platform/config.ts';

/** Starts the server as the environment says, and stops it in order on SIGTERM or SIGINT. */
async function main(): Promise<void> {
  const { config, hints } = loadConfig();
  for (const hint of hints) process.stderr.write(`${hint}\n`);
  const app = await makeApp(config);
  await app.listen();
  setTimeout(compactMemory, 1_000).unref();
  let stopping = false;
  const stop = (signal: string): void => {
    // A second signal means now.
    if (stopping) process.exit(1);
    stopping = true;
    app.log.info({ signal }, 'stopping');
    app.close().then(
      () => process.exit(0),
      (error: unknown) => {
        app.log.fatal({ err: error }, 'could not stop in order');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

main().catch((error: unknown) => {
  const line =
    error instanceof ConfigError
      ? error.message
      : error instanceof Error
        ? (error.stack ?? error.message)
        : String(error);
  process.stderr.write(`reelgate cannot start: ${line}\n`);
  process.exit(1);
});
