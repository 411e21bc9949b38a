import { createContext, Script } from 'node:vm';

const script = new Script('work()');
const context = createContext({});

/**
 * Runs synchronous work that may be slow because of someone else's regular expression, and stops it after a time.
 * @returns undefined when it was stopped
 */
export function runWithinTime<R>(work: () => R, timeoutMs: number): R | undefined {
  let result: R | undefined;
  context.work = () => {
    result = work();
  };
  try {
    script.runInContext(context, { timeout: timeoutMs });
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    return undefined;
  } finally {
    context.work = undefined;
  }
  return result;
}
