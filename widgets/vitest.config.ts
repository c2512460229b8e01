import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/**/*.test.{ts,tsx}"],
    environment: "jsdom",
    // A worker loads jsdom once. Each file has a context of its own, which a single worker would let all files share.
    pool: "vmThreads",
    maxWorkers: 2,
    restoreMocks: true,
    // A busy machine takes seconds to draw thousands of rows.
    testTimeout: 30_000,
  },
});
