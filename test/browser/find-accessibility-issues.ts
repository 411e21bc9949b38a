import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The rules whose result depends on colours. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];

/**
 * Issues reported by axe, horizontal overflow of the page, and truncated values of switches. Axe is evaluated through
 * the debugger, because the page's content security policy blocks foreign scripts.
 */
export async function findAccessibilityIssues(page: Page): Promise<string[]> {
  const faults = await runAxe(page);
  const fits = await page.evaluate('document.documentElement.scrollWidth <= innerWidth');
  const truncated = (await page.evaluate(
    "[...document.querySelectorAll('.segmented span')].filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.textContent)",
  )) as string[];
  return [...faults, ...(fits ? [] : ['wider than the window']), ...truncated.map((text) => `truncated: ${text}`)];
}

/** Issues of colours: all that can change when a page that was checked is shown in its other colour scheme. */
export const findColourIssues = (page: Page): Promise<string[]> => runAxe(page, COLOUR_RULES);

async function runAxe(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(AXE);
  return page.evaluate(async (only) => {
    const { axe } = globalThis as unknown as {
      axe: {
        run(options: object): Promise<{
          violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[];
        }>;
      };
    };
    // Describing the elements that pass takes longer than checking them.
    const some = only === undefined ? {} : { runOnly: { type: 'rule', values: only } };
    const result = await axe.run({ resultTypes: ['violations'], ...some });
    return result.violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary ?? ''}`).join(' ')}`,
    );
  }, rules);
}

/** Fails with the list of accessibility issues of a page. */
export async function assertAccessible(page: Page, name: string): Promise<void> {
  assert.deepEqual(await findAccessibilityIssues(page), [], name);
}
