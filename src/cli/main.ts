import { Output, readLanguage } from './output.ts';
import { createProgram } from './program.ts';

// The reader of a pipe may close it early, as in `reelgate video list | head -1`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

// A command continues when its progress has lost its reader.
process.stderr.on('error', () => {});

const asJson = process.argv.includes('--json');
const chinese = readLanguage() === 'zh-CN' ? await import('./translate-help.ts') : undefined;
if (chinese !== undefined) Output.translation = (await import('./translate-output.ts')).CHINESE;
const program = createProgram(asJson, chinese?.EPILOGUE_ZH_CN);
chinese?.translateHelp(program, asJson);
await program.parseAsync();
