// Which rank this is, from the variables of every launcher; and what is said when they are half set.

#include "launch/launch.h"

#include <gtest/gtest.h>

#include <set>

#include "launch/local_ranks.h"

namespace bdc::host {
namespace {

std::string refusal(const Environment& variables) {
  try {
    (void)recognise_launch(variables);
  } catch (const UserError& e) {
    EXPECT_EQ(e.code(), ExitCode::usage);
    return e.what();
  }
  return "(none)";
}

Environment without(Environment all, const std::string& name) {
  all.erase(name);
  return all;
}

const Environment kTorchrun = {{"RANK", "3"},         {"WORLD_SIZE", "4"},
                               {"LOCAL_RANK", "1"},   {"LOCAL_WORLD_SIZE", "2"},
                               {"MASTER_ADDR", "n0"}, {"MASTER_PORT", "29500"}};
const Environment kMpirun = {{"OMPI_COMM_WORLD_RANK", "1"},
                             {"OMPI_COMM_WORLD_SIZE", "2"},
                             {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                             {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                             {"PMIX_NAMESPACE", "3894738945"}};
const Environment kSrun = {{"SLURM_STEP_ID", "0"},
                           {"SLURM_PROCID", "5"},
                           {"SLURM_STEP_NUM_TASKS", "8"},
                           {"SLURM_LOCALID", "1"},
                           {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"},
                           {"SLURM_NODELIST", "gpu[03-04]"},
                           {"SLURM_JOB_ID", "4711"}};

TEST(Launch, WithoutVariablesAProcessIsAlone) {
  const Launch launch = recognise_launch({{"HOME", "/root"}});
  EXPECT_TRUE(launch.is_alone());
  EXPECT_EQ(launch.launcher, "");
}

TEST(Launch, ALauncherThatStartsAnewSaysHowOftenAndForWhichJob) {
  EXPECT_FALSE(recognise_launch(kTorchrun).can_restart) << "ranks that were started by hand";
  EXPECT_FALSE(recognise_launch(kMpirun).can_restart);
  Environment elastic = kTorchrun;
  elastic["TORCHELASTIC_RESTART_COUNT"] = "3";
  elastic["TORCHELASTIC_RUN_ID"] = "none";
  Launch launch = recognise_launch(elastic);
  EXPECT_TRUE(launch.can_restart);
  EXPECT_EQ(launch.restarts, 3);
  EXPECT_EQ(launch.job, "") << "torchrun's word for a job without a name";
  elastic["TORCHELASTIC_RUN_ID"] = "night";
  EXPECT_EQ(recognise_launch(elastic).job, "night");
  elastic["TORCHELASTIC_RESTART_COUNT"] = "often";
  EXPECT_NE(refusal(elastic).find("TORCHELASTIC_RESTART_COUNT is 'often'"), std::string::npos);

  Environment slurm = kSrun;
  launch = recognise_launch(slurm);
  EXPECT_TRUE(launch.can_restart);
  EXPECT_EQ(launch.restarts, 0);
  EXPECT_EQ(launch.job, "4711.0");
  slurm["SLURM_RESTART_COUNT"] = "1";
  EXPECT_EQ(recognise_launch(slurm).restarts, 1);
}

TEST(Launch, OurOwnVariablesComeBeforeAllOthers) {
  Environment all = kTorchrun;
  all["BDC_RANK"] = "1", all["BDC_RANKS"] = "3", all["BDC_PORT"] = "4000";
  const Launch launch = recognise_launch(all);
  EXPECT_EQ(launch.launcher, "--processes");
  EXPECT_EQ(launch.rank, 1);
  EXPECT_EQ(launch.size, 3);
  EXPECT_EQ(launch.local_size, 3);
  EXPECT_EQ(launch.host, "127.0.0.1");
  EXPECT_EQ(launch.port, 4000);
  EXPECT_NE(refusal(without(all, "BDC_PORT")).find("BDC_RANK, BDC_RANKS are set, but BDC_PORT is not"),
            std::string::npos);
}

TEST(Launch, TorchrunTellsThePlaceAndWhetherItsAgentKeepsTheStore) {
  Launch launch = recognise_launch(kTorchrun);
  EXPECT_EQ(launch.launcher, "torchrun");
  EXPECT_EQ(launch.rank, 3);
  EXPECT_EQ(launch.size, 4);
  EXPECT_EQ(launch.local_rank, 1);
  EXPECT_EQ(launch.local_size, 2);
  EXPECT_EQ(launch.host, "n0");
  EXPECT_EQ(launch.port, 29500);
  EXPECT_FALSE(launch.has_store);
  Environment agent = kTorchrun;
  agent["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  agent["TORCHELASTIC_RUN_ID"] = "none";
  agent["TORCHELASTIC_RESTART_COUNT"] = "0";
  launch = recognise_launch(agent);
  EXPECT_TRUE(launch.has_store);
  agent["TORCHELASTIC_RESTART_COUNT"] = "1";
  EXPECT_NE(recognise_launch(agent).attempt, launch.attempt) << "a restart must not meet what the first attempt left";
}

TEST(Launch, EveryVariableOfTorchrunThatIsMissingIsNamed) {
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"}) {
    const std::string text = refusal(without(kTorchrun, name));
    EXPECT_NE(text.find(std::string("but ") + name + " is not"), std::string::npos) << text;
    EXPECT_NE(text.find("torchrun"), std::string::npos) << text;
  }
}

TEST(Launch, NumbersThatAreNoneOrDoNotFitAreRefused) {
  Environment all = kTorchrun;
  all["RANK"] = "4";
  EXPECT_NE(refusal(all).find("RANK is 4, but WORLD_SIZE is 4; ranks count from 0"), std::string::npos);
  all["RANK"] = "-1";
  EXPECT_NE(refusal(all).find("RANK is '-1', expected a number"), std::string::npos);
  all = kTorchrun;
  all["WORLD_SIZE"] = "0";
  EXPECT_NE(refusal(all).find("WORLD_SIZE is '0'"), std::string::npos);
  all = kTorchrun;
  all["MASTER_PORT"] = "99999";
  EXPECT_NE(refusal(all).find("MASTER_PORT is '99999'"), std::string::npos);
}

TEST(Launch, MpirunOnOneMachineMeetsOnAPortOfTheJob) {
  const Launch launch = recognise_launch(kMpirun);
  EXPECT_EQ(launch.launcher, "mpirun");
  EXPECT_EQ(launch.rank, 1);
  EXPECT_EQ(launch.size, 2);
  EXPECT_EQ(launch.host, "127.0.0.1");
  EXPECT_GT(launch.port, 1023);
  Environment other = kMpirun;
  other["OMPI_COMM_WORLD_RANK"] = other["OMPI_COMM_WORLD_LOCAL_RANK"] = "0";
  EXPECT_EQ(recognise_launch(other).port, launch.port);
  other["PMIX_NAMESPACE"] = "3894738946";
  EXPECT_NE(recognise_launch(other).port, launch.port);
  EXPECT_NE(refusal(without(kMpirun, "OMPI_COMM_WORLD_SIZE")).find("OMPI_COMM_WORLD_SIZE is not"), std::string::npos);
}

TEST(Launch, MpirunOnSeveralMachinesNeedsAPlaceToMeet) {
  Environment all = kMpirun;
  all["OMPI_COMM_WORLD_SIZE"] = "4";
  EXPECT_NE(refusal(all).find("MASTER_ADDR"), std::string::npos);
  all["MASTER_ADDR"] = "n0";
  EXPECT_NE(refusal(all).find("MASTER_ADDR is set, but MASTER_PORT is not"), std::string::npos);
  all["MASTER_PORT"] = "29501";
  EXPECT_EQ(recognise_launch(all).host, "n0");
  EXPECT_EQ(recognise_launch(all).port, 29501);
}

TEST(Launch, SrunMeetsOnTheFirstMachineOfItsList) {
  const Launch launch = recognise_launch(kSrun);
  EXPECT_EQ(launch.launcher, "srun");
  EXPECT_EQ(launch.rank, 5);
  EXPECT_EQ(launch.size, 8);
  EXPECT_EQ(launch.local_rank, 1);
  EXPECT_EQ(launch.local_size, 4);
  EXPECT_EQ(launch.host, "gpu03");
  EXPECT_NE(refusal(without(kSrun, "SLURM_NODELIST")).find("SLURM_NODELIST"), std::string::npos);
  EXPECT_NE(refusal(without(kSrun, "SLURM_LOCALID")).find("but SLURM_LOCALID is not"), std::string::npos);
}

TEST(Launch, ABatchScriptOfSlurmWithoutSrunIsOneProcess) {
  EXPECT_TRUE(recognise_launch({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_NODELIST", "n1"}}).is_alone());
}

TEST(Launch, FirstHostReadsSlurmsShortForm) {
  EXPECT_EQ(first_host("login"), "login");
  EXPECT_EQ(first_host("a,b"), "a");
  EXPECT_EQ(first_host("node[03-05,9],login"), "node03");
  EXPECT_EQ(first_host("a,node[3-5]"), "a");
  EXPECT_EQ(first_host("node[7].cluster,x"), "node7.cluster");
  EXPECT_EQ(first_host("node[3"), "");
  EXPECT_EQ(first_host(""), "");
}

TEST(LocalRanks, FreePortsAreOfTheUsualRange) {
  const int port = free_port();
  EXPECT_GT(port, 1023);
  EXPECT_LT(port, 65536);
}

}  // namespace
}  // namespace bdc::host
