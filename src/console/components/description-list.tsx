import { Paper, SimpleGrid, Text, Title } from '@mantine/core';
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

export function Panel({
  title,
  actions,
  children,
}: {
  readonly title: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}) {
  return (
    <Paper withBorder p={{ base: 'md', sm: 'lg' }} component="section" miw={0}>
      <div style={{ display: 'flex', justifyContent: 'space-between', alignItems: 'center', gap: 8, marginBottom: 14 }}>
        <Title order={2}>{title}</Title>
        {actions}
      </div>
      {children}
    </Paper>
  );
}
