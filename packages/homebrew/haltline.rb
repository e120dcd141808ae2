class Haltline < Formula
  desc "Circuit breaker for AI agents"
  homepage "REPOSITORY"
  version "VERSION"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "RELEASES/haltline-VERSION-aarch64-apple-darwin.tar.xz"
      sha256 "SHA256_aarch64-apple-darwin"
    end
    on_intel do
      url "RELEASES/haltline-VERSION-x86_64-apple-darwin.tar.xz"
      sha256 "SHA256_x86_64-apple-darwin"
    end
  end
  on_linux do
    on_arm do
      url "RELEASES/haltline-VERSION-aarch64-unknown-linux-gnu.tar.xz"
      sha256 "SHA256_aarch64-unknown-linux-gnu"
    end
    on_intel do
      url "RELEASES/haltline-VERSION-x86_64-unknown-linux-gnu.tar.xz"
      sha256 "SHA256_x86_64-unknown-linux-gnu"
    end
  end

  def install
    bin.install "haltline"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/haltline.bash" => "haltline"
    zsh_completion.install "completions/_haltline"
    fish_completion.install "completions/haltline.fish"
  end

  def caveats
    "Type `haltline` to install the hooks of your clients; after an upgrade, `haltline update`."
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/haltline --version")
  end
end
