import { createProgram } from './program.ts';

// The reader of a pipe may close it early, as in `reelgate video list | head -1`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

await createProgram(process.argv.includes('--json')).parseAsync();
