// Plain JavaScript, so that from the second start on nothing is stripped of types or compiled again: a first file in
// TypeScript would load the compiler, which keeps some 14 MB for as long as the server runs.
import module from 'node:module';

// An old Node has none and will say below that it cannot read TypeScript.
module.enableCompileCache?.();
await import('../src/server/main.ts');
