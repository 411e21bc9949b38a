import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { VENDORS } from '../../src/contract/model-kinds.ts';
import type { ContractCase } from './contract-cases.ts';

const require = createRequire(import.meta.url);

/**
 * Loads all files in `adapter-contract-cases/`, in the order of the contract's vendor list, so that a new vendor needs
 * no change elsewhere.
 */
function loadCases(): readonly ContractCase[] {
  const files = readdirSync(new URL('adapter-contract-cases/', import.meta.url)).filter((name) => name.endsWith('.ts'));
  return files
    .flatMap((name) => (require(`./adapter-contract-cases/${name}`) as { cases: readonly ContractCase[] }).cases)
    .toSorted((a, b) => VENDORS.indexOf(a.vendor.name) - VENDORS.indexOf(b.vendor.name));
}

/** One case per vendor and route. */
export const CONTRACT_CASES = loadCases();
