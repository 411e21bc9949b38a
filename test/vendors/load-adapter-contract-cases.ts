import { readdirSync } from 'node:fs';
import { VENDORS } from '../../src/contract/model-kinds.ts';
import type { ContractCase } from './adapter-contract-case-types.ts';

const folder = new URL('adapter-contract-cases/', import.meta.url);

/**
 * Loads all files in `adapter-contract-cases/`, in the order of the contract's vendor list, so that a new vendor needs
 * no change elsewhere.
 */
async function loadCases(): Promise<readonly ContractCase[]> {
  const files = readdirSync(folder).filter((name) => name.endsWith('.ts'));
  const modules: { cases: readonly ContractCase[] }[] = await Promise.all(
    files.map((name) => import(new URL(name, folder).href)),
  );
  return modules
    .flatMap(({ cases }) => cases)
    .toSorted((a, b) => VENDORS.indexOf(a.vendor.name) - VENDORS.indexOf(b.vendor.name));
}

/** One case per vendor and route. */
export const CONTRACT_CASES = await loadCases();
