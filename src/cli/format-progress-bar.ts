import { joinTexts, type Rendering, styled } from './render-output-text.ts';

const BAR_CELLS = 20;

/** @param share of what is done, from 0 to 1 */
export function formatProgressBar(share: number): Rendering {
  const filled = Math.round(share * BAR_CELLS);
  return joinTexts([styled('good', '█'.repeat(filled)), styled('secondary', '░'.repeat(BAR_CELLS - filled))], '');
}
