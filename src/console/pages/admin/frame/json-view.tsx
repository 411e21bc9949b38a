import { Code } from '@mantine/core';
import { Copy } from '../../../parts/copy.tsx';

/** Somebody else's data as text: never more than that, and never taller than a look. */
export function JsonView({ value }: { readonly value: unknown }) {
  const text = JSON.stringify(value, null, 2) ?? '';
  return (
    <div style={{ position: 'relative' }}>
      <Code block mah={320} tabIndex={0} style={{ overflow: 'auto', whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {text}
      </Code>
      <div style={{ position: 'absolute', top: 4, right: 4 }}>
        <Copy text={text} />
      </div>
    </div>
  );
}
