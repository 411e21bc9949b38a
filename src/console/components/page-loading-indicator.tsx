import { Center, Loader } from '@mantine/core';

export function PageLoadingIndicator() {
  return (
    <Center h="60vh" role="status" aria-label="…">
      <Loader type="dots" />
    </Center>
  );
}
