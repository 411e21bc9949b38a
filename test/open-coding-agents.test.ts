import { runClientPrograms } from './run-client-programs.ts';

/** Programs for the terminal that take any provider; each starts slowly, so they have a file of their own. */
runClientPrograms('Coding agents for any provider', {
  opencode: ['opencode.ts'],
  'Qwen Code': ['qwen-code.ts'],
  cline: ['cline.ts'],
});
