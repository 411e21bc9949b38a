import { Container } from '@mantine/core';
import type { ErrorComponentProps } from '@tanstack/react-router';
import { Failure } from './failure.tsx';

/** A page that could not be drawn at all. */
export function PageFailure({ error, reset }: ErrorComponentProps) {
  return (
    <Container size="sm" py="xl">
      <Failure error={error} retry={reset} />
    </Container>
  );
}
