import { runClientPrograms } from './run-client-programs.ts';

/** Programs for the terminal that work with any provider. Each starts slowly, so they have their own file. */
runClientPrograms(
  'Coding agents for any provider',
  { opencode: ['opencode.ts'], 'Qwen Code': ['qwen-code.ts'], cline: ['cline.ts'] },
  'linux-x64',
);
