import { homedir } from 'node:os';
import { toErrorReport } from './error-report.ts';
import { Output, readLanguage } from './output.ts';
import { createProgram } from './program.ts';

// The reader of a pipe may close it early, as in `reelgate video list | head -1`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  const report = toErrorReport(Object.assign(error, { path: '/dev/stdout' }));
  new Output({ json: false, quiet: false }).error(report);
  process.exit(report.exitCode);
});

// A command continues when its progress has lost its reader.
process.stderr.on('error', () => {});

// A user without an entry in the system, as in some containers, has no home: container runtimes take the root folder.
try {
  homedir();
} catch {
  process.env.HOME = '/';
}

const asJson = process.argv.includes('--json');
const chinese = readLanguage() === 'zh-CN' ? await import('./translate-help.ts') : undefined;
if (chinese !== undefined) Output.translation = (await import('./translate-output.ts')).CHINESE;
const program = createProgram(asJson, chinese?.EPILOGUE_ZH_CN);
chinese?.translateHelp(program, asJson);
await program.parseAsync();
