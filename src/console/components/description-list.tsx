import { SimpleGrid, Text } from '@mantine/core';
import type { ReactNode } from 'react';

/** Names and values of one thing, side by side. */
export function DescriptionList({ facts: items }: { readonly facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, lg: 4 }} spacing="md" verticalSpacing="sm">
      {items.map(([name, value]) => (
        <div key={name} style={{ minWidth: 0 }}>
          <Text size="xs" c="dimmed">
            {name}
          </Text>
          <Text size="sm" component="div" style={{ overflowWrap: 'anywhere' }}>
            {value}
          </Text>
        </div>
      ))}
    </SimpleGrid>
  );
}
