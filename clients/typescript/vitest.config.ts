import { defineConfig } from "vitest/config";

const installed = { globalSetup: ["test/installed.ts"], testTimeout: 120_000, hookTimeout: 60_000 };

export default defineConfig({
  test: {
    projects: [
      { test: { name: "unit", include: ["test/unit/**/*.test.ts"], testTimeout: 30_000 } },
      { test: { name: "package", include: ["test/package/**/*.test.ts"], ...installed } },
      { test: { name: "e2e", include: ["test/e2e/**/*.test.ts"], ...installed } },
    ],
  },
});
